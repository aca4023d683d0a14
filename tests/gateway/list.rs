//! All charges in the order of their creation, for whoever compares books.

use std::sync::Arc;

use serde_json::Value;

use crate::merchant::{GOOD, Merchant, refused, send};

async fn page(merchant: &Merchant, query: &str) -> (Vec<String>, bool) {
    let page = send(merchant.get(&format!("/v1/charges?{query}"))).await.ok();
    let ids = page["data"].as_array().unwrap().iter().map(|charge| charge["id"].as_str().unwrap().to_owned());
    (ids.collect(), page["has_more"].as_bool().unwrap())
}

#[tokio::test]
async fn charges_are_listed_page_by_page_in_the_order_of_creation() {
    let merchant = Merchant::open().await;
    assert_eq!(page(&merchant, "").await, (vec![], false));
    let mut made = Vec::new();
    for nth in 0..5 {
        made.push(merchant.captured(&format!("k{nth}")).await);
    }
    assert_eq!(page(&merchant, "").await, (made.clone(), false));
    assert_eq!(page(&merchant, "limit=5").await, (made.clone(), false));
    assert_eq!(page(&merchant, "limit=2").await, (made[..2].to_vec(), true));
    assert_eq!(page(&merchant, &format!("limit=2&after={}", made[1])).await, (made[2..4].to_vec(), true));
    assert_eq!(page(&merchant, &format!("limit=2&after={}", made[3])).await, (made[4..].to_vec(), false));
    assert_eq!(page(&merchant, &format!("after={}", made[4])).await, (vec![], false));
    let full = send(merchant.get("/v1/charges")).await.ok();
    let expected: Vec<Value> = vec![merchant.find(&made[0]).await];
    assert_eq!(full["data"].as_array().unwrap()[..1], expected[..], "each as it is told alone");
    for query in ["limit=0", "limit=1001", "limit=-1", "limit=many"] {
        let answer = send(merchant.get(&format!("/v1/charges?{query}"))).await;
        assert_eq!(answer.refusal(), refused(422, "invalid_request"), "{query}");
    }
    let answer = send(merchant.get("/v1/charges?after=ch_unknown")).await;
    assert_eq!(answer.refusal(), refused(404, "not_found"));
}

/// A charge gets its number before it is committed: whoever pages meanwhile must not go past it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_pages_while_charges_are_made_misses_none() {
    const CHARGES: usize = 200;
    let merchant = Arc::new(Merchant::open().await);
    let making: Vec<_> = (0..8)
        .map(|maker| {
            let merchant = Arc::clone(&merchant);
            tokio::spawn(async move {
                for nth in 0..CHARGES / 8 {
                    merchant.charge(&format!("{maker}-{nth}"), GOOD).await.ok();
                }
            })
        })
        .collect();
    let mut seen: Vec<String> = Vec::new();
    while seen.len() < CHARGES {
        let after = seen.last().map(|id| format!("&after={id}")).unwrap_or_default();
        let are_made = making.iter().all(tokio::task::JoinHandle::is_finished);
        let (ids, _) = page(&merchant, &format!("limit=7{after}")).await;
        assert!(!ids.is_empty() || !are_made, "only {} of {CHARGES} were seen", seen.len());
        seen.extend(ids);
    }
    assert_eq!(page(&merchant, "limit=1000").await.0, seen);
}
