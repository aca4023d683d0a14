//! The pages on which a card's holder confirms a charge. They are the processor's own: plain, without JavaScript, and in no
//! merchant's colours.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use html_escape::{encode_double_quoted_attribute as attribute, encode_text as text};
use serde::Deserialize;

use super::Service;
use super::api::checked;
use super::books::Decision;
use super::charge::{Charge, State as Standing};

/// The addresses of the pages, for whoever was sent there.
pub(super) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/pay/{token}", get(ask).post(decide))
}

#[derive(Deserialize)]
struct Decided {
    decision: String,
}

/// `GET /pay/{token}`
async fn ask(State(service): State<Arc<Service>>, Path(token): Path<String>) -> Response {
    match find(&service, token, None).await {
        Ok(charge) => page(StatusCode::OK, &question(&charge, &service.settings.merchant)),
        Err(refusal) => refusal,
    }
}

/// `POST /pay/{token}`. The second decision changes nothing and is answered as the first one was.
async fn decide(
    State(service): State<Arc<Service>>,
    Path(token): Path<String>,
    form: Result<Form<Decided>, FormRejection>,
) -> Response {
    let decision = match form.as_ref().map(|form| form.decision.as_str()) {
        Ok("confirm") => Decision::Confirm,
        Ok("refuse") => Decision::Refuse,
        _ => return problem(StatusCode::UNPROCESSABLE_ENTITY, "Please choose Confirm or Refuse."),
    };
    let charge = match find(&service, token, Some(decision)).await {
        Ok(charge) => charge,
        Err(refusal) => return refusal,
    };
    match charge.return_url.as_deref() {
        Some(url) if !returns_by_post(&charge) => (no_store(), Redirect::to(url)).into_response(),
        _ => page(StatusCode::OK, &way_back(&charge, &service.settings.merchant, true)),
    }
}

/// The charge of a page, decided if somebody decides.
async fn find(service: &Service, token: String, decision: Option<Decision>) -> Result<Charge, Response> {
    let nothing = || problem(StatusCode::NOT_FOUND, "There is no payment to confirm at this address.");
    let token = checked(token).map_err(|_| nothing())?;
    let found = match decision {
        Some(decision) => service.books.decide(&token, decision).await,
        None => service.books.of_page(&token).await,
    };
    match found {
        Ok(charge) => charge.ok_or_else(nothing),
        Err(error) => {
            tracing::error!(%error, "a page of the gateway failed");
            Err(problem(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something broke here. Nothing was decided; please try again.",
            ))
        }
    }
}

/// Some merchants want to be told by a form, as older bank pages do.
fn returns_by_post(charge: &Charge) -> bool {
    charge.metadata.get("return_by").is_some_and(|how| how == "post")
}

fn question(charge: &Charge, merchant: &str) -> String {
    if !matches!(charge.state, Standing::RequiresAction { .. }) {
        return way_back(charge, merchant, false);
    }
    // Posts to its own address, whatever prefix that has.
    format!(
        r#"<h1>Confirm this payment</h1>
<dl><dt>To</dt><dd>{merchant}</dd><dt>Amount</dt><dd>{amount}</dd><dt>Card</dt><dd>ending in {last4}</dd></dl>
<form method="post"><button class="main" name="decision" value="confirm">Confirm</button>
<button name="decision" value="refuse">Refuse</button></form>
<p class="small">Simulated: no money moves.</p>"#,
        merchant = text(merchant),
        amount = text(&charge.amount.to_string()),
        last4 = text(charge.last4.as_deref().unwrap_or("····")),
    )
}

/// What was decided, and back to the merchant; at once, if the browser has JavaScript and the merchant wants a form.
fn way_back(charge: &Charge, merchant: &str, at_once: bool) -> String {
    let what = match charge.state {
        Standing::Captured { .. } => "This payment is confirmed.",
        Standing::Declined { .. } => "This payment was refused.",
        Standing::Canceled => "This payment was canceled.",
        Standing::Processing { .. } | Standing::RequiresAction { .. } => "This payment is not decided.",
    };
    let method = if returns_by_post(charge) { "post" } else { "get" };
    let back = charge.return_url.as_deref().map(|url| match method {
        "post" => format!(
            r#"<form id="back" method="post" action="{}"><input type="hidden" name="charge" value="{}">
<button class="main">Back to {}</button></form>{}"#,
            attribute(url),
            attribute(&charge.id),
            text(merchant),
            if at_once { SUBMIT } else { "" },
        ),
        _ => format!(r#"<p><a class="main" href="{}">Back to {}</a></p>"#, attribute(url), text(merchant)),
    });
    format!("<h1>{what}</h1>\n{}", back.unwrap_or_default())
}

/// `NONCE` is replaced by that of the page.
const SUBMIT: &str = r#"<script nonce="NONCE">document.getElementById("back").submit()</script>"#;

const STYLE: &str = "body{margin:0;background:#eef1f0;color:#1d2b2a;font:16px/1.5 system-ui,sans-serif}\
main{max-width:26rem;margin:12vh auto;padding:2rem;background:#fff;border-top:4px solid #2f6f69}\
header{font-weight:600;color:#2f6f69}h1{font-size:1.35rem;margin:1rem 0}\
dl{display:grid;grid-template-columns:auto 1fr;gap:.4rem 1.5rem;margin:0 0 1.5rem}dt{color:#566866}dd{margin:0}\
button,a.main{font:inherit;padding:.6rem 1.2rem;border:1px solid #2f6f69;background:#fff;color:#2f6f69;cursor:pointer;\
text-decoration:none;display:inline-block}.main{background:#2f6f69!important;color:#fff!important}\
.small{color:#566866;font-size:.85rem;margin:1.5rem 0 0}";

fn problem(status: StatusCode, what: &str) -> Response {
    page(status, &format!("<h1>{}</h1>", text(what)))
}

fn page(status: StatusCode, content: &str) -> Response {
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let content = content.replace(r#"nonce="NONCE""#, &format!(r#"nonce="{nonce}""#));
    let html = format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>Quillpay</title><style nonce="{nonce}">{STYLE}</style></head>
<body><main><header>Quillpay</header>
{content}
</main></body></html>"#
    );
    // No form-action: browsers hold the redirect after a form to it too, and that leads to the merchant.
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; base-uri 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::try_from(policy).map(|policy| [(header::CONTENT_SECURITY_POLICY, policy)]).ok();
    let mut response = (status, no_store(), Html(html)).into_response();
    response.headers_mut().extend(policy.into_iter().flatten());
    response
}

/// The address is a secret and the answer changes: neither is for a cache, or for the next site.
const fn no_store() -> [(HeaderName, &'static str); 2] {
    [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "same-origin")]
}
