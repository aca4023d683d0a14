//! Pages for when there is nothing to show, and for faults.

use http::StatusCode;
use leptos::prelude::*;
use leptos_meta::Title;

use super::frame::status;
use crate::box_office::fault;
use crate::domain::Error;
use crate::store::StoreError;

/// Nothing lives at this address.
#[component]
pub fn NotFound() -> impl IntoView {
    problem_page(
        &Error::UnknownShow,
        "There is nothing at this address",
        "The show or order may have ended, or the link lost a letter on the way.",
    )
}

/// No such show, or order.
pub fn not_found() -> AnyView {
    view! { <NotFound/> }.into_any()
}

/// A failure of ours: logged, and told by its reference alone.
pub fn failed(error: impl std::borrow::Borrow<StoreError>) -> AnyView {
    let error = fault(error);
    let heading = if matches!(error, Error::Unavailable) {
        "The box office is closed for a moment"
    } else {
        "Something went wrong on our side"
    };
    problem_page(&error, heading, "Nothing was sold or charged by this request.").into_any()
}

/// A page that says what is wrong, under the error's status.
pub fn problem_page(error: &Error, heading: &'static str, words: &'static str) -> impl IntoView + use<> {
    status(StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    let ours = matches!(error, Error::Internal { .. } | Error::Unavailable);
    let told = ours.then(|| view! { <p>{error.to_string()}</p> });
    view! {
        <Title text=heading/>
        <main id="main">
            <section class="empty">
                <h1>{heading}</h1>
                <p>{words}</p>
                {told}
                <p class="actions">
                    <a class="button primary" href="/">"See what’s on"</a>
                    <a class="button" href="/my">"My tickets"</a>
                </p>
            </section>
        </main>
    }
}
