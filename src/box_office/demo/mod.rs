//! The demo cinema: three halls of different character and eight films that do not exist.

/// An invented film.
#[derive(Clone, Copy, Debug)]
pub struct DemoFilm {
    /// Name of its poster under `/posters/`.
    pub poster: &'static str,
    /// Title.
    pub title: &'static str,
    /// Length.
    pub runtime_min: i32,
    /// Genre.
    pub genre: &'static str,
    /// From which age.
    pub rating: &'static str,
    /// One line about it.
    pub blurb: &'static str,
}

/// A hall of the demo cinema.
#[derive(Clone, Copy, Debug)]
pub struct DemoHall {
    /// Name.
    pub name: &'static str,
    /// Text of its plan.
    pub plan: &'static str,
    /// Price in cents by zone, in the plan's order.
    pub zone_prices: &'static [i64],
    /// When films start, in minutes after midnight on the cinema's clock.
    pub starts: &'static [u32],
}

/// Name of the demo cinema.
pub const CINEMA: &str = "The Meridian";

/// Where its clocks hang.
pub const ZONE: chrono_tz::Tz = chrono_tz::Europe::Berlin;

/// Its halls.
pub const HALLS: &[DemoHall] = &[
    DemoHall {
        name: "Lantern Room",
        plan: include_str!("lantern-room.plan"),
        zone_prices: &[1050, 1300],
        starts: &[11 * 60, 13 * 60 + 30, 16 * 60, 18 * 60 + 15, 20 * 60 + 30, 22 * 60 + 45],
    },
    DemoHall {
        name: "Great Hall",
        plan: include_str!("great-hall.plan"),
        zone_prices: &[950, 1250, 1600],
        starts: &[12 * 60, 14 * 60 + 45, 17 * 60 + 15, 20 * 60, 22 * 60 + 30],
    },
    DemoHall {
        name: "Observatory",
        plan: include_str!("observatory.plan"),
        zone_prices: &[1150, 1450, 1900, 900],
        starts: &[15 * 60, 18 * 60, 21 * 60],
    },
];

/// Its films.
pub const FILMS: &[DemoFilm] = &[
    DemoFilm {
        poster: "the-salt-orchard",
        title: "The Salt Orchard",
        runtime_min: 112,
        genre: "Drama",
        rating: "12+",
        blurb: "Two sisters inherit forty hectares of flooded salt and one tree that refuses to die.",
    },
    DemoFilm {
        poster: "zolw-i-zegarmistrz",
        title: "Żółw i zegarmistrz",
        runtime_min: 84,
        genre: "Animation",
        rating: "6+",
        blurb: "A clockmaker's tortoise is the only one in town who notices that noon has gone missing.",
    },
    DemoFilm {
        poster: "paper-comet",
        title: "Paper Comet",
        runtime_min: 97,
        genre: "Family",
        rating: "6+",
        blurb: "A girl folds a comet out of homework, and on Thursday it lands.",
    },
    DemoFilm {
        poster: "nine-floors-down",
        title: "Nine Floors Down",
        runtime_min: 101,
        genre: "Thriller",
        rating: "16+",
        blurb: "The building has six floors. The night porter has just counted nine.",
    },
    DemoFilm {
        poster: "a-field-guide-to-thunder",
        title: "A Field Guide to Thunder",
        runtime_min: 89,
        genre: "Documentary",
        rating: "all ages",
        blurb: "One summer on the plains with the people who draw storms for a living.",
    },
    DemoFilm {
        poster: "the-lighthouse-tax",
        title: "The Lighthouse Tax",
        runtime_min: 106,
        genre: "Comedy",
        rating: "12+",
        blurb: "An island of ninety people decides to charge passing ships for the light, by the second.",
    },
    DemoFilm {
        poster: "last-tram-to-orrery",
        title: "Last Tram to Orrery",
        runtime_min: 128,
        genre: "Fantasy",
        rating: "12+",
        blurb: "The 00:47 stops at every planet, and somebody has lost their return ticket.",
    },
    DemoFilm {
        poster: "velvet-arithmetic",
        title: "Velvet Arithmetic",
        runtime_min: 118,
        genre: "Musical",
        rating: "12+",
        blurb: "Five accountants, one opera house, and the neatest robbery ever set to music.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::plan::Plan;

    #[test]
    fn every_hall_has_a_plan_and_a_price_for_each_zone() {
        let seats: Vec<usize> = HALLS
            .iter()
            .map(|hall| {
                let plan = Plan::parse(hall.plan).unwrap();
                assert_eq!(plan.zones().len(), hall.zone_prices.len(), "{}", hall.name);
                assert!(plan.rows().iter().all(|row| row != "I" && row != "O"), "rows I and O read as 1 and 0");
                plan.places().len()
            })
            .collect();
        assert_eq!(seats, [60, 298, 1204]);
    }

    #[test]
    fn every_film_has_a_poster() {
        for film in FILMS {
            let poster = format!("{}/public/posters/{}.svg", env!("CARGO_MANIFEST_DIR"), film.poster);
            assert!(std::path::Path::new(&poster).exists(), "{poster}");
        }
    }
}
