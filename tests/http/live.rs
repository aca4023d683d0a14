//! The live map: what changes reaches every viewer, on whichever server; what may be missing is said, never guessed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use matinee::domain::ids::ShowId;
use matinee::store::snapshots::watch::READ_ANYWAY_EVERY;
use reqwest::header::{ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::browser::{Browser, serve};
use crate::support::{Cinema, GOOD_CARD, layout_of};

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Somebody who watches a show's map as the page's script does: applies what follows, reads anew what does not.
struct Viewer {
    site: SocketAddr,
    show: ShowId,
    stream: Response,
    unread: String,
    version: u64,
    seats: BTreeMap<i64, Value>,
    resyncs: usize,
}

impl Viewer {
    async fn at(site: SocketAddr, show: ShowId) -> Self {
        let stream = reqwest::get(format!("http://{site}/shows/{show}/live")).await.unwrap();
        assert_eq!(
            (stream.status(), &stream.headers()[CONTENT_TYPE]),
            (StatusCode::OK, &"text/event-stream".parse().unwrap())
        );
        let mut viewer =
            Self { site, show, stream, unread: String::new(), version: 0, seats: BTreeMap::new(), resyncs: 0 };
        assert_eq!(viewer.next().await.0, "resync", "a stranger is told to read the map");
        viewer.reads().await;
        viewer
    }

    /// The next message: what it is, and what it says.
    async fn next(&mut self) -> (String, Value) {
        tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some((message, rest)) = self.unread.split_once("\n\n") {
                    let field =
                        |name: &str| message.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                    let (event, data) = (field("event: ").unwrap(), field("data: ").unwrap());
                    self.unread = rest.to_owned();
                    return (event, serde_json::from_str(&data).unwrap());
                }
                let piece = self.stream.chunk().await.unwrap().unwrap();
                self.unread.push_str(std::str::from_utf8(&piece).unwrap());
            }
        })
        .await
        .unwrap()
    }

    async fn reads(&mut self) {
        let (version, seats) = map(self.site, self.show).await;
        (self.version, self.seats) = (version, seats);
        self.resyncs += 1;
    }

    /// Takes the next message in.
    async fn hears(&mut self) {
        let (event, data) = self.next().await;
        match event.as_str() {
            "seats" if data["from"] == self.version => {
                for seat in data["seats"].as_array().unwrap() {
                    self.seats.insert(seat["no"].as_i64().unwrap(), hot(seat));
                }
                self.version = data["version"].as_u64().unwrap();
            }
            "still" if data["version"] == self.version => {}
            _ => self.reads().await,
        }
    }

    /// Listens until its map is the database's.
    async fn agrees(&mut self, cinema: &Cinema) -> Duration {
        let since = Instant::now();
        while self.seats != truth(cinema, self.show).await {
            self.hears().await;
        }
        since.elapsed()
    }
}

fn hot(seat: &Value) -> Value {
    serde_json::json!([seat["status"], seat["locked_at"]])
}

async fn map(site: SocketAddr, show: ShowId) -> (u64, BTreeMap<i64, Value>) {
    let json = Browser::at(site).get(&format!("/shows/{show}/seats")).await.json();
    let seats = json["seats"].as_array().unwrap().iter().map(|seat| (seat["no"].as_i64().unwrap(), hot(seat)));
    (json["version"].as_u64().unwrap(), seats.collect())
}

async fn truth(cinema: &Cinema, show: ShowId) -> BTreeMap<i64, Value> {
    let map = cinema.seats(show).await;
    map.seats.iter().map(|seat| (i64::from(seat.no.0), serde_json::json!([seat.status, seat.locked_at]))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewers_on_two_servers_hear_of_holds_releases_and_sales() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let (here, there) = (serve(&cinema.office).await, serve(&cinema.another_office()).await);
    let (mut near, mut far) = (Viewer::at(here, show).await, Viewer::at(there, show).await);
    let ada = Browser::at(here);
    let mut delays = Vec::new();

    let order = ada.hold(show, &[1, 2]).await.order();
    for viewer in [&mut near, &mut far] {
        delays.push(viewer.agrees(&cinema).await);
        assert_eq!(viewer.seats[&1][0], "locked");
    }
    ada.release(order).await;
    for viewer in [&mut near, &mut far] {
        delays.push(viewer.agrees(&cinema).await);
        assert_eq!(viewer.seats[&1][0], "available");
    }
    let order = ada.hold(show, &[2, 3]).await.order();
    ada.pay(order, GOOD_CARD).await;
    for viewer in [&mut near, &mut far] {
        delays.push(viewer.agrees(&cinema).await);
        assert_eq!((&viewer.seats[&2][0], viewer.resyncs), (&"booked".into(), 1), "all came by the stream");
    }
    println!("heard after {delays:?}");
    assert_eq!(map(here, show).await, map(there, show).await, "the same map has the same version everywhere");
    cinema.proves().await;
}

/// B10: the connections that the maps are read with are cut again and again while seats are sold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_whose_connections_are_cut_goes_on() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(40).await;
    let site = serve(&cinema.office).await;
    let mut viewer = Viewer::at(site, show).await;
    for seat in 1..=20 {
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity
                   where query ~ '-- (shows_since|horizon|seat_map)' and pid <> pg_backend_pid()";
        cinema.sql(cut).await;
        Browser::at(site).hold(show, &[seat]).await.order();
    }
    let longest = viewer.agrees(&cinema).await;
    println!("agreed after {longest:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    assert_eq!(viewer.seats.values().filter(|seat| seat[0] == "locked").count(), 20);
    cinema.proves().await;
}

/// B10 under load: a crowd holds and gives back on two servers while the connections that the maps are read with are cut all
/// the time; viewers on both listen meanwhile, and have the database's map soon after the last change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewers_of_a_crowd_agree_however_often_the_watch_is_cut() {
    const LOAD: Duration = Duration::from_secs(3);
    let cinema = Cinema::open().await;
    let show = cinema.show_of(60).await;
    let sites = [serve(&cinema.office).await, serve(&cinema.another_office()).await];
    let mut viewers = [Viewer::at(sites[0], show).await, Viewer::at(sites[1], show).await];
    let until = Instant::now() + LOAD;
    let crowd = (0..8_i16).map(|nth| async move {
        let mut held = 0;
        while Instant::now() < until {
            // Seven seats each, so that nobody takes another's.
            let person = Browser::at(sites[usize::from(nth.unsigned_abs()) % 2]);
            let answer = person.hold(show, &[nth * 7 + 1 + held % 7]).await;
            held += 1;
            // The last one of each stays held.
            if Instant::now() < until {
                person.release(answer.order()).await;
            }
        }
        held
    });
    let cuts = async {
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity
                   where query ~ '-- (shows_since|horizon|seat_map)' and pid <> pg_backend_pid()";
        let mut cuts = 0;
        while Instant::now() < until {
            cinema.sql(cut).await;
            cuts += 1;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        cuts
    };
    let listening = async {
        for viewer in &mut viewers {
            // What comes later waits in the connection.
            for _ in 0..10 {
                viewer.hears().await;
            }
        }
    };
    let (held, cuts, ()) = tokio::join!(futures::future::join_all(crowd), cuts, listening);
    let held: i16 = held.iter().sum();
    assert!(held > 40 && cuts > 20, "{held} holds and {cuts} cuts");
    for viewer in &mut viewers {
        let longest = viewer.agrees(&cinema).await;
        println!("{held} holds, {cuts} cuts: agreed after {longest:?}");
        assert!(longest < Duration::from_secs(2), "{longest:?}");
    }
    cinema.proves().await;
}

/// B11: whoever changes seats behind Matinee's back is not hindered, and is seen soon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_of_three_thousand_seats_is_seen() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3000).await;
    let site = serve(&cinema.office).await;
    let mut viewer = Viewer::at(site, show).await;
    let import = "begin; update seats set status = 'locked', locked_at = clock_timestamp(), order_id = gen_random_uuid(); commit";
    cinema.sql(import).await;
    let seen = viewer.agrees(&cinema).await;
    println!("seen after {seen:?}");
    assert!(seen < READ_ANYWAY_EVERY + Duration::from_secs(1), "{seen:?}");
    assert_eq!(viewer.seats.values().filter(|seat| seat[0] == "locked").count(), 3000);
    // Orders that nobody made: a breach that `prove` names.
    cinema.is_broken_on_purpose();
}

/// A viewer that does not listen for a while is told to read the map anew, and costs the others nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_lags_is_told_to_read_anew() {
    let cinema = Cinema::open().await;
    let show = cinema.show(&layout_of(600), &[1250], 900).await;
    let site = serve(&cinema.office).await;
    let (mut slow, mut quick) = (Viewer::at(site, show).await, Viewer::at(site, show).await);
    let changing = async {
        let ada = Browser::at(site);
        for _ in 0..400 {
            let order = ada.hold(show, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).await.order();
            ada.release(order).await;
        }
        let last = ada.hold(show, &[600]).await.order();
        assert_eq!(cinema.order(last).await.seats.count(), 1);
    };
    let listening = async {
        while quick.seats[&600][0] != "locked" {
            quick.hears().await;
        }
    };
    tokio::join!(changing, listening);
    slow.agrees(&cinema).await;
    assert_eq!(slow.seats[&600][0], "locked");
    println!("the slow one read anew {} times, the quick one {} times", slow.resyncs, quick.resyncs);
    cinema.proves().await;
}

#[tokio::test]
async fn whoever_knows_the_version_is_not_told_to_read() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let site = serve(&cinema.office).await;
    let (version, _) = map(site, show).await;
    let first_word = |request: reqwest::RequestBuilder| async move {
        let mut stream = request.header(ACCEPT, "text/event-stream").send().await.unwrap();
        String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap()
    };
    let client = reqwest::Client::new();
    let path = format!("http://{site}/shows/{show}/live");
    let told = first_word(client.get(format!("{path}?version={version}"))).await;
    assert!(told.starts_with("event: still\n"), "{told}");
    let told = first_word(client.get(&path).header("Last-Event-ID", version.to_string())).await;
    assert!(told.starts_with("event: still\n"), "{told}");
    let told = first_word(client.get(format!("{path}?version={}", version + 1))).await;
    assert!(told.starts_with("event: resync\n"), "{told}");
    for nonsense in ["?version=-1", "?version=x", "?version="] {
        let answer = client.get(format!("{path}{nonsense}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{nonsense}");
    }
    let nowhere = format!("http://{site}/shows/{}/live", uuid::Uuid::new_v4());
    assert_eq!(client.get(nowhere).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    cinema.proves().await;
}

/// Nothing on the way may keep messages back.
#[tokio::test]
async fn a_stream_is_neither_compressed_nor_kept() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let site = serve(&cinema.office).await;
    let request = reqwest::Client::new().get(format!("http://{site}/shows/{show}/live"));
    let answer = request.header("Accept-Encoding", "gzip, br").send().await.unwrap();
    assert_eq!(answer.headers().get(CONTENT_ENCODING), None);
    assert_eq!(answer.headers()[CACHE_CONTROL], "no-store");
    assert_eq!(answer.headers()["x-accel-buffering"], "no");
    cinema.proves().await;
}
