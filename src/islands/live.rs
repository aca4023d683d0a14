//! The live stream: what others pick and buy, as it happens.
//!
//! A message says from which version of the map it leads to which. One that does not begin where this page is means that
//! something was missed: then the map is read anew. So is it when the stream says so, or comes back after a break.
//!
//! A browser keeps six connections to a site over HTTP/1.1, for all its tabs together, and a stream takes one for as long as
//! it is open. So a tab that nobody sees has none, and no more than [`PLACES`] tabs have one at a time; the others ask.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Function, JSON, Promise, Reflect};
use leptos::prelude::{document, window};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Event, EventSource, MessageEvent};

use super::browser::{digits, elapsed_ms, is_visible, on};
use super::picker::Shared;
use super::refresh;

/// How many tabs of a browser may have a stream at once: half of the connections that HTTP/1.1 leaves them.
const PLACES: [&str; 3] = ["matinee-live-1", "matinee-live-2", "matinee-live-3"];

/// A stream that says nothing for as long is taken for dead: the server says something every 10 s.
const SILENCE_MS: f64 = 25_000.0;

/// This page's stream, if it has one.
#[derive(Default)]
pub struct Stream {
    source: RefCell<Option<EventSource>>,
    /// Gives the place back that the stream was opened with.
    place: RefCell<Option<Function>>,
    opening: Cell<bool>,
    heard_ms: Cell<f64>,
}

impl Stream {
    /// Whether the map is kept true by the stream alone.
    pub fn is_alive(&self) -> bool {
        let open = self.source.borrow().as_ref().is_some_and(|source| source.ready_state() == EventSource::OPEN);
        open && elapsed_ms() - self.heard_ms.get() < SILENCE_MS
    }

    fn close(&self) {
        if let Some(source) = self.source.take() {
            source.close();
        }
        if let Some(give_back) = self.place.take() {
            let _ = give_back.call0(&JsValue::NULL);
        }
    }
}

/// Opens the stream whenever somebody sees the page.
pub fn start(grid: &Shared) -> Rc<Stream> {
    let stream = Rc::<Stream>::default();
    let follow = {
        let (grid, stream) = (Rc::clone(grid), Rc::clone(&stream));
        move |_: Event| if is_visible() { open(&grid, &stream) } else { stream.close() }
    };
    let leave = Rc::clone(&stream);
    // A page that is left may be kept by the browser, and is not while it has a stream.
    on(&window(), "pagehide", move |_: Event| leave.close());
    on(&window(), "pageshow", follow.clone());
    on(&document(), "visibilitychange", follow);
    open(grid, &stream);
    stream
}

/// Opens a stream unless there is one that is alive, or no place for one.
pub fn open(grid: &Shared, stream: &Rc<Stream>) {
    if !is_visible() || stream.is_alive() || stream.opening.replace(true) {
        return;
    }
    stream.close();
    let (grid, stream) = (Rc::clone(grid), Rc::clone(stream));
    spawn_local(async move {
        let place = take_place().await;
        stream.opening.set(false);
        let Some(place) = place else { return };
        stream.place.replace(Some(place));
        // Somebody may have looked away meanwhile.
        if is_visible() { listen(&grid, &stream) } else { stream.close() }
    });
}

fn listen(grid: &Shared, stream: &Rc<Stream>) {
    let path = {
        let grid = grid.borrow();
        format!("/shows/{}/live?version={}", grid.facts.show, grid.version)
    };
    let Ok(source) = EventSource::new(&path) else { return };
    for kind in ["seats", "resync", "still"] {
        let (grid, stream) = (Rc::clone(grid), Rc::clone(stream));
        on(&source, kind, move |event: MessageEvent| {
            stream.heard_ms.set(elapsed_ms());
            refresh::say_how_fresh("live");
            let data = event.data().as_string().and_then(|data| JSON::parse(&data).ok());
            let Some(data) = data else { return };
            let version = digits(&data, if kind == "seats" { "from" } else { "version" });
            let in_step = version.as_ref() == Some(&grid.borrow().version);
            match (kind, in_step) {
                ("seats", true) => refresh::apply(&grid, data),
                ("still", true) => {}
                _ => refresh::now_and_then(&grid),
            }
        });
    }
    stream.heard_ms.set(elapsed_ms());
    stream.source.replace(Some(source));
}

/// One of the browser's places for a stream, and what gives it back; `None` when all are taken, or this browser has no locks
/// (it has none on a page that came over plain HTTP).
async fn take_place() -> Option<Function> {
    let locks = Reflect::get(&window().navigator(), &"locks".into()).ok().filter(JsValue::is_object)?;
    let request: Function = Reflect::get(&locks, &"request".into()).ok()?.dyn_into().ok()?;
    let options = js_sys::Object::new();
    let _ = Reflect::set(&options, &"ifAvailable".into(), &true.into());
    for name in PLACES {
        let mut give_back = None;
        let held = Promise::new(&mut |resolve, _| give_back = Some(resolve));
        let (mut tell, mut answer) = (None, None);
        answer.replace(Promise::new(&mut |resolve, _| tell = Some(resolve)));
        let (tell, answer) = (tell?, answer?);
        let callback = Closure::once_into_js(move |lock: JsValue| -> JsValue {
            let got = lock.is_object();
            let _ = tell.call1(&JsValue::NULL, &got.into());
            if got { held.into() } else { JsValue::UNDEFINED }
        });
        request.call3(&locks, &name.into(), &options, &callback).ok()?;
        if JsFuture::from(answer).await.ok()?.is_truthy() {
            return give_back;
        }
    }
    None
}
