//! The few things the islands ask of the browser. Nothing here panics: an element that is not there is left alone.

use std::time::Duration;

use js_sys::{JSON, Reflect};
use leptos::prelude::{document, window};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, Event, EventTarget, HtmlElement, HtmlInputElement, Response, Storage, VisibilityState};

/// The first element that matches.
pub fn find(selector: &str) -> Option<HtmlElement> {
    document().query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// Every element that matches, below `root`.
pub fn all<T: JsCast>(root: &Element, selector: &str) -> Vec<T> {
    let Ok(list) = root.query_selector_all(selector) else { return Vec::new() };
    (0..list.length()).filter_map(|index| list.item(index)?.dyn_into().ok()).collect()
}

/// Calls `handler` for every such event, as long as the page lives.
pub fn on<E: JsCast + 'static>(target: &EventTarget, event: &str, mut handler: impl FnMut(E) + 'static) {
    let listener = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
        if let Ok(event) = event.dyn_into::<E>() {
            handler(event);
        }
    });
    // Adding a listener fails only for a callback that is none.
    let _ = target.add_event_listener_with_callback(event, listener.as_ref().unchecked_ref());
    listener.forget();
}

/// Calls `action` once, after so many milliseconds.
pub fn after(milliseconds: f64, action: impl FnOnce() + 'static) {
    // The timers of browsers overflow after 24 days and then fire at once.
    let milliseconds = milliseconds.clamp(0.0, 86_400_000.0);
    let _ = leptos::prelude::set_timeout(action, Duration::from_secs_f64(milliseconds / 1000.0));
}

/// Sets an attribute, or removes it.
pub fn set_attribute(element: &Element, name: &str, value: Option<&str>) {
    let _ = match value {
        Some(value) if element.get_attribute(name).as_deref() == Some(value) => Ok(()),
        Some(value) => element.set_attribute(name, value),
        None => element.remove_attribute(name),
    };
}

/// Shows or hides.
pub fn set_hidden(element: &Element, hidden: bool) {
    set_attribute(element, "hidden", hidden.then_some(""));
}

/// Milliseconds since the page began to load. Not the visitor's clock: setting that changes nothing here.
pub fn elapsed_ms() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// When the first byte of this page arrived, in milliseconds since it began to load.
pub fn arrived_ms() -> f64 {
    navigation().and_then(|entry| number(&entry, "responseStart")).unwrap_or(0.0)
}

/// Whether the page was reached by Back or Forward.
pub fn was_returned_to() -> bool {
    navigation().and_then(|entry| text(&entry, "type")).as_deref() == Some("back_forward")
}

fn navigation() -> Option<JsValue> {
    let entry = window().performance()?.get_entries_by_type("navigation").get(0);
    (!entry.is_undefined()).then_some(entry)
}

/// Whether anybody can see the page.
pub fn is_visible() -> bool {
    document().visibility_state() == VisibilityState::Visible
}

/// This tab's own memory.
pub fn tab() -> Option<Storage> {
    window().session_storage().ok().flatten()
}

/// A server function's redirect loads the page it names; the page it was called from is replaced, not piled up. `before`
/// is told the path first.
pub fn follow_redirects(before: impl Fn(&str) + Send + Sync + 'static) {
    let _ = server_fn::redirect::set_redirect_hook(move |path| {
        before(path);
        let location = window().location();
        let _ = match location.pathname() {
            Ok(here) if here == path => location.replace(path),
            _ => location.assign(path),
        };
    });
}

/// Asks the server for JSON; `None` when it cannot be reached or says no.
pub async fn get_json(path: &str) -> Option<JsValue> {
    let response: Response = JsFuture::from(window().fetch_with_str(path)).await.ok()?.dyn_into().ok()?;
    if !response.ok() {
        return None;
    }
    let body = JsFuture::from(response.text().ok()?).await.ok()?;
    JSON::parse(&body.as_string()?).ok()
}

/// A number of a JSON object.
pub fn number(object: &JsValue, key: &str) -> Option<f64> {
    Reflect::get(object, &key.into()).ok()?.as_f64()
}

/// A text of a JSON object.
pub fn text(object: &JsValue, key: &str) -> Option<String> {
    Reflect::get(object, &key.into()).ok()?.as_string()
}

/// A time of a JSON object, in milliseconds since 1970.
pub fn time_ms(object: &JsValue, key: &str) -> Option<f64> {
    let milliseconds = js_sys::Date::parse(&text(object, key)?);
    (!milliseconds.is_nan()).then_some(milliseconds)
}

/// Value of the hidden field of this name in the form that contains `inside`.
pub fn field(form: &Element, name: &str) -> Option<String> {
    let field = form.query_selector(&format!("input[name={name}]")).ok().flatten()?;
    Some(field.dyn_into::<HtmlInputElement>().ok()?.value())
}
