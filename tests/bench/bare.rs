//! The hold's statement with nothing around it: by pgbench, which is the yardstick, and by the server's own driver.

use std::time::{Duration, Instant};

use matinee::store::pool::{CONNECTIONS, SESSION};
use sqlx::Row as _;
use tokio::process::Command;
use uuid::Uuid;

use crate::Result;
use crate::cinema::{Cinema, show_id};
use crate::statement::HOLD;

/// Shows of one size whose seats are free, and who holds which of them: every place of four seats is held once.
#[derive(Debug, Clone, Copy)]
pub struct House {
    /// How many shows.
    pub shows: usize,
    /// Seats of each.
    pub seats: usize,
}

impl House {
    /// Makes it so.
    pub async fn open(self, cinema: &Cinema) -> Result<()> {
        cinema.fill(self.shows, self.seats).await
    }

    /// Places of four seats.
    pub const fn places(self) -> usize {
        self.shows * self.places_a_show()
    }

    const fn places_a_show(self) -> usize {
        self.seats / 4
    }

    /// The show and the first seat of the nth place in a scattered order; `None` when all are held.
    pub fn place(self, nth: usize) -> Option<(usize, usize)> {
        // A prime that no house's number of places shares.
        let place = (nth < self.places()).then(|| nth * 7919 % self.places())?;
        Some((place / self.places_a_show(), place % self.places_a_show() * 4 + 1))
    }
}

/// Holds a second by pgbench: until the time is up, or until everything is held.
pub async fn pgbench(cinema: &Cinema, house: House, duration: Option<Duration>) -> Result<f64> {
    let script = cinema.folder().join("hold.pgbench");
    std::fs::write(&script, pgbench_script(house))?;
    let connections = CONNECTIONS.to_string();
    let (until, how_much) = match duration {
        Some(duration) => ("-T", duration.as_secs()),
        None => ("-t", house.places() as u64 / u64::from(CONNECTIONS)),
    };
    let output = Command::new(cinema.program("pgbench"))
        .args(["-n", "-M", "simple", "-D", "n=-1", "-D", "prepared=0", "-j", "2", "-c", &connections])
        .args([until, &how_much.to_string(), "-f"])
        .arg(script)
        .arg(cinema.url())
        .env("PGOPTIONS", SESSION.map(|(name, value)| format!("-c {name}={value}")).join(" "))
        .kill_on_drop(true)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let after = |label: &str| said.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim);
    let first = |text: &str| text.split([' ', '/']).next().and_then(|number| number.parse::<f64>().ok());
    let rate = after("tps =").and_then(first);
    let holds = after("number of transactions actually processed:").and_then(first);
    let (Some(rate), Some(holds)) = (rate, holds) else {
        return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
    };
    all_won(cinema, holds as usize).await?;
    Ok(rate)
}

/// The product's statement, word for word, prepared once a connection. The ids of a show and of an order are put
/// together from a number of twelve digits, since pgbench knows only numbers.
fn pgbench_script(house: House) -> String {
    format!(
        "\\if :prepared = 0\n\
         prepare hold (uuid, smallint[], uuid, uuid, bigint, bigint) as\n{HOLD};\n\
         \\set prepared 1\n\\endif\n\
         \\set n :n + 1\n\
         \\set place permute(:n * {CONNECTIONS} + :client_id, {places}, 4711)\n\
         \\set show 100000000000 + :place / {a_show}\n\
         \\set order 200000000000 + :place\n\
         \\set visitor 300000000000 + :place\n\
         \\set a (:place % {a_show}) * 4 + 1\n\\set b :a + 1\n\\set c :a + 2\n\\set d :a + 3\n\
         execute hold ('00000000-0000-4000-8000-:show', '{{:a,:b,:c,:d}}', '00000000-0000-4000-8000-:visitor', \
         '00000000-0000-4000-8000-:order', 10, null);\n",
        places = house.places(),
        a_show = house.places_a_show(),
    )
}

/// Holds a second by sqlx, without the server around it.
pub async fn sqlx(cinema: &Cinema, house: House, duration: Duration) -> Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(cinema.connect().await?);
    }
    let start = Instant::now();
    let clients = connections.into_iter().enumerate().map(|(client, mut connection)| async move {
        let mut holds = 0;
        while start.elapsed() < duration {
            let Some((show, first)) = house.place(holds * CONNECTIONS as usize + client) else { break };
            let first = i16::try_from(first)?;
            let row = ::sqlx::query(HOLD)
                .bind(show_id(show).parse::<Uuid>()?)
                .bind(vec![first, first + 1, first + 2, first + 3])
                .bind(Uuid::new_v4())
                .bind(Uuid::new_v4())
                .bind(10_i64)
                .bind(None::<i64>)
                .fetch_one(&mut connection)
                .await?;
            if !row.try_get::<bool, _>(0)? {
                return Err("a hold lost".into());
            }
            holds += 1;
        }
        Result::Ok(holds)
    });
    let clients: Vec<_> = clients.map(tokio::spawn).collect();
    let mut holds = 0;
    for client in clients {
        holds += client.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    all_won(cinema, holds).await?;
    Ok(holds as f64 / seconds)
}

/// Every hold that was counted is in the database, and no other.
pub async fn all_won(cinema: &Cinema, holds: usize) -> Result<()> {
    let orders = cinema.number("select count(*) from orders where state = 'held'").await?;
    let seats = cinema.number("select count(*) from seats where status = 'locked'").await?;
    if (orders, seats) == (i64::try_from(holds)?, orders * 4) {
        Ok(())
    } else {
        Err(format!("{holds} holds were counted, but there are {orders} orders and {seats} held seats").into())
    }
}
