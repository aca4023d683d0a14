//! The wires between a server and what it speaks to: its database and its card processor. All that goes over them is
//! counted, an exchange at a time (a request and its answer), and one of them is stopped in its middle, where the test says.

use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use matinee::box_office::BoxOffice;
use matinee::box_office::gateway::http::HttpGateway;
use matinee::store::pool;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::speech::{Speech, contains};
use super::{Cinema, GATEWAY_KEY, here};

/// Which exchange is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Exchange {
    /// None.
    Never,
    /// The nth from now on; the first is 1.
    Nth(usize),
    /// The first from now on whose request contains this.
    Saying(&'static str),
}

/// Where in the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The request has been sent, and did not arrive yet.
    Before,
    /// The request took effect, and its answer did not come yet.
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Runs,
    Stopped,
    GoesOn,
    Arrived,
    Cut,
}

type Deed = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Plan {
    stop: (Exchange, Side),
    seen: Vec<String>,
    meanwhile: Option<(&'static str, Deed)>,
}

/// Both wires of one server.
pub struct Wires {
    /// Where the server finds its database.
    pub database_url: String,
    /// Where it finds its card processor.
    pub gateway_url: String,
    inner: Arc<Inner>,
}

struct Inner {
    plan: Mutex<Plan>,
    fate: watch::Sender<Fate>,
}

impl Cinema {
    /// Wires to this cinema's database and card processor; they carry everything until something is stopped.
    pub async fn wires(&self) -> Wires {
        let plan = Plan { stop: (Exchange::Never, Side::Before), seen: Vec::new(), meanwhile: None };
        let inner = Arc::new(Inner { plan: Mutex::new(plan), fate: watch::Sender::new(Fate::Runs) });
        let direct = PgConnectOptions::from_str(&self.url()).unwrap();
        let socket = direct.get_socket().unwrap().join(format!(".s.PGSQL.{}", direct.get_port()));
        let gateway_at = self.gateway_at;
        let database = listen(&inner, Speech::Database, move || {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await }
        });
        let gateway = listen(&inner, Speech::Http, move || TcpStream::connect(gateway_at));
        let (database, gateway) = (database.await, gateway.await);
        let (role, name) = (direct.get_username(), direct.get_database().unwrap());
        Wires {
            database_url: format!("postgres://{role}@127.0.0.1:{database}/{name}?sslmode=disable"),
            gateway_url: format!("http://127.0.0.1:{gateway}"),
            inner,
        }
    }
}

impl Wires {
    /// An office that speaks over them, with one connection to its database: so the same story is always told by the same
    /// exchanges.
    pub fn office(&self) -> BoxOffice {
        let gateway = HttpGateway::new(&self.gateway_url, GATEWAY_KEY, "http://cinema.example").unwrap();
        let usual = pool::connect(&self.database_url).unwrap();
        let one = usual.options().clone().max_connections(1).connect_lazy_with((*usual.connect_options()).clone());
        BoxOffice::new(one, here(), Arc::new(gateway))
    }

    /// Counts anew, and stops there.
    pub fn stop_at(&self, exchange: Exchange, side: Side) {
        let mut plan = self.inner.plan.lock().unwrap();
        (plan.stop, plan.seen) = ((exchange, side), Vec::new());
        self.inner.fate.send_replace(Fate::Runs);
    }

    /// When a request that contains this comes, this happens before it goes on; once.
    pub fn meanwhile(&self, saying: &'static str, deed: impl Future<Output = ()> + Send + 'static) {
        self.inner.plan.lock().unwrap().meanwhile = Some((saying, Box::pin(deed)));
    }

    /// What went over them since: a few words of each request.
    pub fn seen(&self) -> Vec<String> {
        self.inner.plan.lock().unwrap().seen.clone()
    }

    /// Returns once the exchange is stopped.
    pub async fn stopped(&self) {
        self.inner.fate.subscribe().wait_for(|fate| *fate != Fate::Runs).await.unwrap();
    }

    /// Whether it ever was.
    pub fn was_stopped(&self) -> bool {
        *self.inner.fate.borrow() != Fate::Runs
    }

    /// What was stopped goes on as if it had only been slow.
    pub fn go_on(&self) {
        self.inner.fate.send_replace(Fate::GoesOn);
    }

    /// Returns once what was stopped, and went on, has taken effect.
    pub async fn arrived(&self) {
        self.inner.fate.subscribe().wait_for(|fate| *fate == Fate::Arrived).await.unwrap();
    }

    /// What was stopped loses its connection.
    pub fn cut(&self) {
        self.inner.fate.send_replace(Fate::Cut);
    }
}

impl Inner {
    /// Counts an exchange; where it is to be stopped, if it is.
    async fn begins(&self, speech: Speech, request: &[u8]) -> Option<Side> {
        let (stop, deed) = {
            let mut plan = self.plan.lock().unwrap();
            plan.seen.push(speech.words(request));
            let here = match plan.stop.0 {
                Exchange::Never => false,
                Exchange::Nth(nth) => plan.seen.len() == nth,
                Exchange::Saying(what) => contains(request, what) && *self.fate.borrow() == Fate::Runs,
            };
            let now = plan.meanwhile.take_if(|(saying, _)| contains(request, saying));
            (here.then_some(plan.stop.1), now)
        };
        if let Some((_, deed)) = deed {
            deed.await;
        }
        stop
    }

    /// Stops here until the test has decided; whether to go on.
    async fn stop(&self) -> bool {
        self.fate.send_replace(Fate::Stopped);
        let mut fate = self.fate.subscribe();
        let decided = fate.wait_for(|fate| matches!(fate, Fate::GoesOn | Fate::Cut)).await;
        decided.is_ok_and(|fate| *fate == Fate::GoesOn)
    }

    fn arrived(&self, stop: Option<Side>) {
        if stop.is_some() {
            self.fate.send_if_modified(|fate| {
                let went_on = *fate == Fate::GoesOn;
                if went_on {
                    *fate = Fate::Arrived;
                }
                went_on
            });
        }
    }
}

async fn listen<N, F>(inner: &Arc<Inner>, speech: Speech, near: impl Fn() -> F + Send + 'static) -> u16
where
    N: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    F: Future<Output = std::io::Result<N>> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let inner = Arc::clone(inner);
    tokio::spawn(async move {
        while let Ok((far, _)) = listener.accept().await {
            far.set_nodelay(true).unwrap();
            let near = near().await.unwrap();
            tokio::spawn(carry(Arc::clone(&inner), speech, far, near));
        }
    });
    port
}

/// Carries one connection until an end of it is gone.
async fn carry(
    inner: Arc<Inner>,
    speech: Speech,
    mut far: TcpStream,
    mut near: impl AsyncRead + AsyncWrite + Unpin,
) -> Option<()> {
    let mut first = true;
    loop {
        let request = speech.request(&mut far, first).await?;
        first = false;
        // The pool asks whether a connection lives when it gets it back, at a time of its own.
        let stop = if speech.asks_nothing(&request) { None } else { inner.begins(speech, &request).await };
        if stop == Some(Side::Before) && !inner.stop().await {
            return None;
        }
        let written = near.write_all(&request).await;
        let answer = speech.answer(&mut near).await;
        if stop == Some(Side::After) && !inner.stop().await {
            return None;
        }
        inner.arrived(stop);
        written.ok()?;
        far.write_all(&answer?).await.ok()?;
    }
}
