//! Charts as inline SVG. Colours are classes, so that a page decides them for light and dark; the libraries that draw charts
//! write colours into the picture, which then fits one of the two only.

use leptos::prelude::*;

use super::figure::number;

const LABELS: f64 = 220.0;
const PLOT: f64 = 490.0;
const FIGURES: f64 = 90.0;
const BAR: f64 = 13.0;
const GAP: f64 = 12.0;
const AXIS: f64 = 22.0;
const SCALE: f64 = 60.0;
const WIDE: f64 = 720.0;
const LINES: f64 = 200.0;

/// A group of bars with one label.
#[derive(Clone, Debug)]
pub struct Group {
    /// Left of the bars.
    pub label: String,
    /// Whether it is marked as wrong.
    pub wrong: bool,
    /// A value for each series; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// A range on a line: its least, its middle and its most.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Where it begins.
    pub low: f64,
    /// A point within.
    pub middle: f64,
    /// Where it ends.
    pub high: f64,
}

/// A group of ranges with one label.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// Left of the lines.
    pub label: String,
    /// Whether it is marked as wrong.
    pub wrong: bool,
    /// A range for each series.
    pub values: Vec<Option<Range>>,
}

/// A line over time.
#[derive(Clone, Debug)]
pub struct Line {
    /// In the key.
    pub name: String,
    /// Where it goes through, in the order of time.
    pub points: Vec<(f64, f64)>,
}

/// Lines from zero, over a common time from zero. `along` says what the time is.
pub fn lines(title: &str, along: &str, all: &[Line]) -> AnyView {
    let points = || all.iter().flat_map(|line| &line.points);
    let most = points().fold(0.0_f64, |most, point| most.max(point.1));
    let last = points().fold(0.0_f64, |most, point| most.max(point.0));
    let (step, pace) = (nice_step(most / 4.0), nice_step(last / 8.0));
    let (top, end) = ((most / step).ceil().max(1.0) * step, last.max(pace));
    let y = move |value: f64| 8.0 + LINES * (1.0 - value / top);
    let x = move |value: f64| SCALE + WIDE * value / end;
    let ticks =
        |step: f64, most: f64| (0..).map(move |nth| f64::from(nth) * step).take_while(move |at| *at <= most * 1.0001);
    let grid: Vec<AnyView> = ticks(step, top)
        .map(|tick| {
            view! {
                <line class="grid" x1=SCALE y1=y(tick) x2=SCALE + WIDE y2=y(tick)></line>
                <text class="side" x=SCALE - 8.0 y=y(tick) + 4.0>{tick_text(tick)}</text>
            }
            .into_any()
        })
        .collect();
    let times: Vec<AnyView> = ticks(pace, end)
        .map(|tick| view! { <text class="tick" x=x(tick) y=LINES + 26.0>{tick_text(tick)}</text> }.into_any())
        .collect();
    let marks: Vec<AnyView> = all
        .iter()
        .enumerate()
        .map(|(nth, line)| {
            let path = line.points.iter().map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value)));
            let points = path.collect::<Vec<_>>().join(" ");
            view! { <polyline class=format!("l{nth}") points=points></polyline> }.into_any()
        })
        .collect();
    let names: Vec<String> = all.iter().map(|line| line.name.clone()).collect();
    let along = along.to_owned();
    let plot = view! {
        {grid}{times}{marks}
        <text class="tick" x=SCALE + WIDE / 2.0 y=LINES + 44.0>{along}</text>
    };
    figure(title, &names, LINES + 50.0, plot.into_any())
}

/// Horizontal bars from zero.
pub fn bars(title: &str, series: &[String], groups: &[Group]) -> AnyView {
    let most = groups.iter().flat_map(|group| &group.values).flatten().fold(0.0_f64, |most, value| most.max(*value));
    let step = nice_step(most / 5.0);
    let end = (most / step).ceil().max(1.0) * step;
    let x = move |value: f64| LABELS + PLOT * value / end;
    let ticks: Vec<f64> = (0..).map(|nth| f64::from(nth) * step).take_while(|tick| *tick <= end + step / 2.0).collect();
    let rows = groups.iter().map(|group| (group.label.clone(), group.wrong, group.values.clone())).collect::<Vec<_>>();
    frame(title, series, &rows, &ticks, x, |nth, top, value: f64| {
        let width = (x(value) - LABELS).max(1.0);
        view! {
            <rect class=format!("s{nth}") x=LABELS y=top width=width height=BAR rx="2"></rect>
            <text class="figure" x=x(value) + 5.0 y=top + BAR - 2.5>{number(value)}</text>
        }
        .into_any()
    })
}

/// Ranges on a logarithmic scale, for times.
pub fn ranges(title: &str, series: &[String], groups: &[Ranges]) -> AnyView {
    let all = || groups.iter().flat_map(|group| &group.values).flatten();
    let least = all().fold(f64::MAX, |least, range| least.min(range.low.max(0.01)));
    let most = all().fold(1.0_f64, |most, range| most.max(range.high));
    let (first, last) = (least.min(most).log10().floor(), most.log10().ceil());
    let decades = (last - first).max(1.0);
    let x = move |value: f64| LABELS + PLOT * (value.max(0.01).log10() - first) / decades;
    let ticks: Vec<f64> = (0..=decades as i32).map(|nth| 10_f64.powf(first + f64::from(nth))).collect();
    let rows = groups.iter().map(|group| (group.label.clone(), group.wrong, group.values.clone())).collect::<Vec<_>>();
    frame(title, series, &rows, &ticks, x, |nth, top, range: Range| {
        let y = top + BAR / 2.0;
        view! {
            <line class=format!("l{nth}") x1=x(range.low) y1=y x2=x(range.high) y2=y></line>
            <circle class=format!("s{nth}") cx=x(range.low) cy=y r="4.5"></circle>
            <rect class=format!("s{nth}") x=x(range.middle) - 1.5 y=top + 1.0 width="3" height=BAR - 2.0></rect>
            <path class=format!("l{nth}") d=format!("M{0} {1} v{2}", x(range.high), top + 2.0, BAR - 4.0)></path>
            <text class="figure" x=x(range.high) + 6.0 y=top + BAR - 2.5>{number(range.high)}</text>
        }
        .into_any()
    })
}

/// Labels, grid, key and the marks of every group.
fn frame<V: Copy>(
    title: &str,
    series: &[String],
    groups: &[(String, bool, Vec<Option<V>>)],
    ticks: &[f64],
    x: impl Fn(f64) -> f64,
    mark: impl Fn(usize, f64, V) -> AnyView,
) -> AnyView {
    let group_height = BAR * series.len() as f64 + GAP;
    let height = group_height * groups.len() as f64 + AXIS;
    let bottom = height - AXIS;
    let grid: Vec<AnyView> = ticks
        .iter()
        .map(|tick| {
            view! {
                <line class="grid" x1=x(*tick) y1="0" x2=x(*tick) y2=bottom></line>
                <text class="tick" x=x(*tick) y=height - 6.0>{tick_text(*tick)}</text>
            }
            .into_any()
        })
        .collect();
    let rows: Vec<AnyView> = groups
        .iter()
        .enumerate()
        .map(|(nth, (label, wrong, values))| {
            let top = group_height * nth as f64 + GAP / 2.0;
            let middle = top + BAR * series.len() as f64 / 2.0 + 4.5;
            let marks: Vec<AnyView> = values
                .iter()
                .enumerate()
                .filter_map(|(nth, value)| value.map(|value| mark(nth, BAR.mul_add(nth as f64, top), value)))
                .collect();
            let class = if *wrong { "label wrong" } else { "label" };
            let label = label.clone();
            view! { <text class=class x=LABELS - 10.0 y=middle>{label}</text> {marks} }.into_any()
        })
        .collect();
    figure(title, series, height, view! { {grid}{rows} }.into_any())
}

/// A drawing under its title, with the key to its colours.
fn figure(title: &str, series: &[String], height: f64, drawing: AnyView) -> AnyView {
    let key: Vec<AnyView> = series
        .iter()
        .enumerate()
        .map(|(nth, name)| {
            let name = name.clone();
            view! { <span class="key"><i class=format!("b{nth}")></i>{name}</span> }.into_any()
        })
        .collect();
    let size = format!("0 0 {} {height}", LABELS + PLOT + FIGURES);
    let title = title.to_owned();
    let caption = title.clone();
    view! {
        <figure>
            <figcaption>{caption} <span class="keys">{key}</span></figcaption>
            <div class="scrolls"><svg viewBox=size role="img" aria-label=title>{drawing}</svg></div>
        </figure>
    }
    .into_any()
}

fn tick_text(tick: f64) -> String {
    if tick > 0.0 && tick < 1.0 { tick.to_string() } else { super::figure::whole(tick.round() as i64) }
}

/// 1, 2 or 5 times a power of ten, at least this.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(0.001).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([0.7, 3.0, 21.0, 5000.0, 5001.0].map(nice_step), [1.0, 5.0, 50.0, 5000.0, 10_000.0]);
    }

    #[test]
    fn a_line_goes_through_its_points() {
        let line = Line { name: "held".to_owned(), points: vec![(0.0, 0.0), (8.0, 400.0)] };
        let html = lines("Seats", "seconds", &[line]).to_html();
        assert!(html.contains("points=\"60.0,208.0 780.0,8.0\""), "{html}");
    }

    #[test]
    fn a_label_cannot_break_out() {
        let group = Group { label: "<script>".to_owned(), wrong: false, values: vec![Some(3.0)] };
        let html = bars("a", &["low".to_owned()], &[group]).to_html();
        assert!(html.contains("&lt;script&gt;") && !html.contains("<script>"), "{html}");
        assert!(html.contains("viewBox=\"0 0 800 47\""), "{html}");
    }
}
