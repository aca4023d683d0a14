//! A cinema in which nothing is left to do: all seats have gone, and everything that could be asked of Ada's orders was.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::http::header::{LOCATION, SET_COOKIE};
use leptos::config::LeptosOptions;
use matinee::box_office;
use matinee::box_office::gateway::Gateway;
use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::payment::Card;
use matinee::gateway::Settings;
use matinee::server::limits::Shares;
use matinee::server::{Processor, Site, router};
use sqlx::AssertSqlSafe;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use uuid::Uuid;

use crate::input::{FORM, Input};
use crate::support::{Cinema, GOOD_CARD, PRICE, layout_of};

pub const SECRETS: [&str; 2] = ["secret of the fuzz", "the next secret of the fuzz"];
pub const KEY: &str = "key-of-the-fuzz";

const A_DAY_S: i32 = 86_400;

/// Something that was bought or not, by Ada.
#[derive(Clone, Copy, Debug)]
pub struct Tried {
    pub order: OrderId,
    pub attempt: Uuid,
    /// The seats it was for.
    pub seats: [i16; 2],
}

/// Everything that an input may know.
pub struct World {
    pub cinema: Cinema,
    pub site: Router,
    /// All its seats are sold, or held by Bert.
    pub show: ShowId,
    /// Its sales are over.
    pub closed: ShowId,
    /// Ada's cookie.
    pub ada: String,
    pub sold: Tried,
    pub released: Tried,
    pub lapsed: Tried,
    pub refunded: Tried,
    /// The attempt that Ada paid with.
    pub paid_with: Uuid,
    /// Of somebody else, held.
    pub others: OrderId,
    /// A paid and a refunded payment: its id, and the gateway's names of its charge.
    pub paid: (PaymentId, String),
    pub given_back: (PaymentId, String),
    /// The gateway's pages of two charges, by their last part: one waits, one was refused. Empty where nobody asks.
    pub pages: (String, String),
}

impl World {
    pub async fn new() -> Self {
        let cinema = Cinema::open().await;
        // Bert's hold outlives the longest fuzz.
        let show = cinema.show(&layout_of(12), &[PRICE], A_DAY_S).await;
        let closed = cinema.show_of(3).await;
        sqlx::query("update shows set sales_close_at = now() - interval '1 minute' where id = $1")
            .bind(closed.0)
            .execute(&cinema.db)
            .await
            .unwrap();
        let site = site(&cinema);
        // A stranger's first attempt makes the visitor; the later ones are Ada's alone, and known to the inputs.
        let first = hold(&site, None, show, Uuid::from_u128(1), &[11, 12]).await;
        let ada = first.1.unwrap();
        let tried = async |nth: u128, seats: [i16; 2]| {
            let attempt = Uuid::from_u128(nth);
            let (order, cookie) = hold(&site, Some(&ada), show, attempt, &seats).await;
            assert_eq!(cookie, None);
            Tried { order, attempt, seats }
        };
        let own = |tried: Tried, form: &str| {
            let form = format!("order={}{form}", tried.order);
            let (site, ada) = (site.clone(), ada.clone());
            async move |path: &str| {
                let input =
                    Input::new("POST", path).with("content-type", FORM).with("cookie", ada.clone()).body(form.clone());
                assert!(site.clone().oneshot(input.request().unwrap()).await.unwrap().status().is_success());
            }
        };
        let paid_with = Uuid::from_u128(100);
        let sold = tried(2, [1, 2]).await;
        own(sold, &format!("&attempt={paid_with}&card={}", GOOD_CARD.replace(' ', "")))("/api/pay").await;
        let released = tried(3, [3, 4]).await;
        own(released, "")("/api/release_hold").await;
        let (lapsed, refunded) = (tried(4, [5, 6]).await, tried(5, [7, 8]).await);
        own(Tried { order: first.0, attempt: Uuid::nil(), seats: [11, 12] }, "")("/api/release_hold").await;
        let late = PaymentId(Uuid::new_v4());
        let amount = cinema.starts(refunded.order, late).await.unwrap();
        let card = Card::parse(GOOD_CARD).unwrap();
        let charge = cinema.gateway.charge(late, refunded.order, amount, &card).await.unwrap();
        for gone in [lapsed.order, refunded.order] {
            cinema.expire(gone).await;
        }
        let bert = hold(&site, None, show, Uuid::from_u128(6), &[3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).await;
        box_office::learn(&cinema.office, late, charge).await.unwrap();
        assert!(cinema.is_refunded(refunded.order).await && cinema.is_sold(sold.order).await);
        let paid = cinema.payments(sold.order).await[0].id;
        let (paid, given_back) = ((paid, charge_of(&cinema, paid).await), (late, charge_of(&cinema, late).await));
        Self {
            cinema,
            site,
            show,
            closed,
            ada,
            sold,
            released,
            lapsed,
            refunded,
            paid_with,
            others: bert.0,
            paid,
            given_back,
            pages: Default::default(),
        }
    }

    /// Ada's orders that nothing can be done with any more.
    pub fn done(&self) -> [Tried; 3] {
        [self.sold, self.released, self.refunded]
    }

    /// Every row of every table: by table, how many there are and what they say.
    pub async fn everything(&self) -> Vec<(String, i64, String)> {
        let tables: Vec<String> = sqlx::query_scalar(
            "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('public', 'gateway') order by 1",
        )
        .fetch_all(&self.cinema.db)
        .await
        .unwrap();
        assert!(tables.len() > 20, "{tables:?}");
        let rows = tables.iter().map(|table| {
            format!("select '{table}', count(*), md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from {table} t")
        });
        let rows = rows.collect::<Vec<_>>().join(" union all ");
        sqlx::query_as(AssertSqlSafe(rows)).fetch_all(&self.cinema.db).await.unwrap()
    }
}

fn site(cinema: &Cinema) -> Router {
    let leptos = LeptosOptions::builder().output_name("matinee").site_root("target/site").site_pkg_dir("pkg").build();
    let shares = Shares { by_visitor: None, by_address: None, trusted: Vec::new() };
    let site =
        Site { leptos, cookie_key: vec![7; 64], secure_cookie: false, shares, closing: CancellationToken::new() };
    let own = Settings {
        pool: matinee::gateway::connect(&cinema.url()).unwrap(),
        api_keys: vec![KEY.to_owned()],
        webhook_secrets: vec![],
        webhook_url: None,
        public_url: "http://cinema.example/gateway".to_owned(),
        merchant: "The Meridian".to_owned(),
    };
    let processor = Processor { own: Some(own), webhook_secrets: SECRETS.map(str::to_owned).to_vec() };
    router(Arc::clone(&cinema.office), &site, &processor)
}

async fn hold(
    site: &Router,
    cookie: Option<&str>,
    show: ShowId,
    attempt: Uuid,
    seats: &[i16],
) -> (OrderId, Option<String>) {
    let seats: String = seats.iter().map(|seat| format!("&seats[]={seat}")).collect();
    let form = Input::new("POST", "/api/hold_seats")
        .with("content-type", FORM)
        .body(format!("show={show}&attempt={attempt}{seats}"));
    let form = cookie.into_iter().fold(form, |form, cookie| form.with("cookie", cookie));
    let answer = site.clone().oneshot(form.request().unwrap()).await.unwrap();
    let header = |name| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (location, cookie) = (header(LOCATION), header(SET_COOKIE));
    let Some(location) = location else {
        panic!("not held: {:?}", to_bytes(answer.into_body(), usize::MAX).await.unwrap());
    };
    let order = location.trim_start_matches("/orders/").trim_end_matches("/pay").parse().unwrap();
    (order, cookie.map(|cookie| cookie.split(';').next().unwrap().to_owned()))
}

async fn charge_of(cinema: &Cinema, payment: PaymentId) -> String {
    sqlx::query_scalar("select gateway_reference from payments where id = $1 and captured_minor = $2")
        .bind(payment.0)
        .bind(2 * PRICE)
        .fetch_one(&cinema.db)
        .await
        .unwrap()
}
