//! The few things the islands ask of the browser. Nothing here panics: an element that is not there is left alone.

use js_sys::{Array, JSON, Reflect};
use leptos::prelude::{document, window};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Element, Event, EventTarget, FormData, HtmlElement, RequestInit, Response, Storage, UrlSearchParams,
    VisibilityState,
};

use crate::domain::seat::SeatNo;

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
    let action = Closure::once_into_js(action);
    let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(action.unchecked_ref(), milliseconds as i32);
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

/// Loads the page of this path. The page one is on is replaced, not piled up.
pub fn go(path: &str) {
    let location = window().location();
    let _ = match location.pathname() {
        Ok(here) if here == path => location.replace(path),
        _ => location.assign(path),
    };
}

/// Loads the seat map anew, as it is now, with these seats picked if they can be had.
pub fn reopen<'a>(show: &str, picked: impl Iterator<Item = &'a SeatNo>) {
    let picked = picked.map(ToString::to_string).collect::<Vec<_>>().join(",");
    let _ = window().location().replace(&format!("/shows/{show}?pick={picked}"));
}

/// Asks the server for JSON; `None` when it cannot be reached or says no.
pub async fn get_json(path: &str) -> Option<JsValue> {
    let response: Response = JsFuture::from(window().fetch_with_str(path)).await.ok()?.dyn_into().ok()?;
    if response.ok() { json(&response).await } else { None }
}

async fn json(response: &Response) -> Option<JsValue> {
    let body = JsFuture::from(response.text().ok()?).await.ok()?;
    JSON::parse(&body.as_string()?).ok()
}

/// Why a command was refused: the server's word for it, its seats, and its sentence.
pub struct Refusal {
    pub error: String,
    pub seats: Vec<SeatNo>,
    pub message: String,
}

/// Sends a command as its form would, and says which page it leads to.
///
/// By `fetch` and not by the generated client: that one would bring a reader and a writer of its own, a tenth of the WASM.
pub async fn post(path: &str, form: &UrlSearchParams) -> Result<String, Refusal> {
    let unreachable =
        || Refusal { error: String::new(), seats: Vec::new(), message: crate::domain::error::UNREACHABLE.to_owned() };
    let request = RequestInit::new();
    request.set_method("POST");
    request.set_body(form);
    let headers = js_sys::Object::new();
    // Else the server takes it for a form without a script, and answers a refusal with a page.
    let _ = Reflect::set(&headers, &"Accept".into(), &"application/json".into());
    request.set_headers(&headers);
    let sent = JsFuture::from(window().fetch_with_str_and_init(path, &request)).await;
    let response: Response = sent.ok().and_then(|response| response.dyn_into().ok()).ok_or_else(unreachable)?;
    if response.ok() {
        return response.headers().get("Location").ok().flatten().ok_or_else(unreachable);
    }
    // What is not ours (the page of a proxy in between) says that the cinema was not reached.
    let json = json(&response).await.ok_or_else(unreachable)?;
    let message = text(&json, "message").ok_or_else(unreachable)?;
    Err(Refusal { error: text(&json, "error").unwrap_or_default(), seats: seats(&json), message })
}

/// A number of a JSON object.
pub fn number(object: &JsValue, key: &str) -> Option<f64> {
    Reflect::get(object, &key.into()).ok()?.as_f64()
}

/// A whole number of a JSON object in digits. Rust's own reading and writing of numbers with a point is a quarter of the WASM.
pub fn digits(object: &JsValue, key: &str) -> Option<String> {
    let number: js_sys::Number = Reflect::get(object, &key.into()).ok()?.dyn_into().ok()?;
    number.to_string_with_radix(10).ok().map(String::from)
}

/// A text of a JSON object.
pub fn text(object: &JsValue, key: &str) -> Option<String> {
    Reflect::get(object, &key.into()).ok()?.as_string()
}

/// A list of a JSON object; empty when there is none.
pub fn array(object: &JsValue, key: &str) -> Array {
    let list = Reflect::get(object, &key.into()).unwrap_or_default();
    if list.is_object() { Array::from(&list) } else { Array::new() }
}

/// The seat numbers that a JSON object names.
pub fn seats(object: &JsValue) -> Vec<SeatNo> {
    array(object, "seats").iter().filter_map(|no| no.as_f64()).map(|no| SeatNo(no as i16)).collect()
}

/// A time of a JSON object, in milliseconds since 1970.
pub fn time_ms(object: &JsValue, key: &str) -> Option<f64> {
    let milliseconds = js_sys::Date::parse(&text(object, key)?);
    (!milliseconds.is_nan()).then_some(milliseconds)
}

/// What a form would send now.
pub fn fields(form: &HtmlElement) -> Option<UrlSearchParams> {
    let data = FormData::new_with_form(form.dyn_ref()?).ok()?;
    // A form's data is a sequence of pairs, which is what the constructor takes; the bindings only know its other names.
    UrlSearchParams::new_with_str_sequence_sequence(&data).ok()
}
