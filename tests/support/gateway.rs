//! A gateway that does what the test says: it thinks for as long as it is told to, loses answers, fails. Behind it stands
//! the cinema's own card processor, whose books `prove` compares with ours.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use matinee::box_office::BoxOffice;
use matinee::box_office::gateway::http::HttpGateway;
use matinee::box_office::gateway::{Charge, Gateway, Listed, NoAnswer};
use matinee::domain::Error;
use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::money::Money;
use matinee::domain::payment::Card;
use matinee::store::pool;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Cinema, GOOD_CARD, Visitor, here, until};

impl Cinema {
    /// Another server on the same database, whose gateway does what the test says.
    pub fn scripted_office(&self) -> (Arc<BoxOffice>, Arc<ScriptedGateway>) {
        let pool = pool::connect(&self.url()).unwrap();
        let gateway = Arc::new(ScriptedGateway::new(self.gateway.clone()));
        let office = BoxOffice::new(pool, here(), Arc::clone(&gateway) as Arc<dyn Gateway>);
        (Arc::new(office), gateway)
    }

    /// Somebody holds these seats and pays for them, and the gateway thinks.
    pub async fn paying(&self, show: ShowId, seats: &[i16]) -> Paying {
        let (office, gateway) = self.scripted_office();
        let visitor = Visitor::at(&office);
        let order = visitor.hold(show, seats).await.unwrap();
        let mut charge = gateway.next_charge_thinks();
        let payer = visitor.clone();
        let payment = tokio::spawn(async move { payer.pay(order, GOOD_CARD).await });
        charge.began().await;
        Paying { visitor, order, charge, payment, office, gateway }
    }
}

/// A payment under way.
#[derive(Debug)]
pub struct Paying {
    /// Who pays.
    pub visitor: Visitor,
    /// For what.
    pub order: OrderId,
    /// What the gateway thinks about.
    pub charge: Thinking,
    /// Ends once the visitor has an answer.
    pub payment: JoinHandle<Result<(), Error>>,
    /// The server that does it.
    pub office: Arc<BoxOffice>,
    /// Its gateway.
    pub gateway: Arc<ScriptedGateway>,
}

/// The gateway; without a script it is the simulated one.
#[derive(Debug)]
pub struct ScriptedGateway {
    books: HttpGateway,
    charges: Mutex<VecDeque<Step>>,
    silent_finds: AtomicUsize,
    failing_refunds: AtomicUsize,
    lost_refund_answers: AtomicUsize,
    refunds_meet: AtomicUsize,
    /// How often a refund was asked for.
    pub refunds_asked: AtomicUsize,
}

#[derive(Debug)]
enum Step {
    Think { began: oneshot::Sender<()>, end: oneshot::Receiver<()> },
    LoseTheAnswer,
    LoseTheRequest,
}

/// A charge that thinks until it is told to go on.
#[derive(Debug)]
pub struct Thinking {
    began: Option<oneshot::Receiver<()>>,
    end: oneshot::Sender<()>,
}

impl Thinking {
    /// Returns once the charge has reached the gateway.
    pub async fn began(&mut self) {
        if let Some(began) = self.began.take() {
            began.await.unwrap();
        }
    }

    /// Lets it go on.
    pub fn goes_on(self) {
        self.end.send(()).unwrap();
    }
}

impl ScriptedGateway {
    pub fn new(books: HttpGateway) -> Self {
        Self {
            books,
            charges: Mutex::default(),
            silent_finds: AtomicUsize::new(0),
            failing_refunds: AtomicUsize::new(0),
            lost_refund_answers: AtomicUsize::new(0),
            refunds_meet: AtomicUsize::new(0),
            refunds_asked: AtomicUsize::new(0),
        }
    }

    /// The next charge thinks before it decides.
    pub fn next_charge_thinks(&self) -> Thinking {
        let ((reached, began), (end, ended)) = (oneshot::channel(), oneshot::channel());
        self.script(Step::Think { began: reached, end: ended });
        Thinking { began: Some(began), end }
    }

    /// The next charge takes the money, and nobody hears of it.
    pub fn next_charge_loses_its_answer(&self) {
        self.script(Step::LoseTheAnswer);
    }

    /// The next charge does not arrive.
    pub fn next_charge_is_lost(&self) {
        self.script(Step::LoseTheRequest);
    }

    /// So many questions about a charge find no answer.
    pub fn next_finds_are_silent(&self, times: usize) {
        self.silent_finds.store(times, Ordering::SeqCst);
    }

    /// So many refunds fail.
    pub fn next_refunds_fail(&self, times: usize) {
        self.failing_refunds.store(times, Ordering::SeqCst);
    }

    /// So many refunds are made, and nobody hears of it.
    pub fn next_refunds_lose_their_answer(&self, times: usize) {
        self.lost_refund_answers.store(times, Ordering::SeqCst);
    }

    /// No refund is made before so many have been asked for.
    pub fn next_refunds_meet(&self, times: usize) {
        self.refunds_meet.store(self.refunds_asked.load(Ordering::SeqCst) + times, Ordering::SeqCst);
    }

    fn script(&self, step: Step) {
        self.charges.lock().unwrap().push_back(step);
    }
}

/// Takes one off a counter that is not at zero.
fn counts_down(counter: &AtomicUsize) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn silence() -> NoAnswer {
    NoAnswer("as the test wanted".to_owned())
}

#[async_trait]
impl Gateway for ScriptedGateway {
    async fn charge(&self, payment: PaymentId, order: OrderId, amount: Money, card: &Card) -> Result<Charge, NoAnswer> {
        let step = self.charges.lock().unwrap().pop_front();
        match step {
            Some(Step::LoseTheRequest) => return Err(silence()),
            Some(Step::LoseTheAnswer) => {
                self.books.charge(payment, order, amount, card).await?;
                return Err(silence());
            }
            Some(Step::Think { began, end }) => {
                // A test that has seen enough drops its side.
                let _nobody_waits = began.send(());
                let _nobody_speaks = end.await;
            }
            None => {}
        }
        self.books.charge(payment, order, amount, card).await
    }

    async fn find(&self, payment: PaymentId, cancel: bool) -> Result<Option<Charge>, NoAnswer> {
        if counts_down(&self.silent_finds) { Err(silence()) } else { self.books.find(payment, cancel).await }
    }

    async fn refund(&self, payment: PaymentId, charge: &str, amount: Money) -> Result<String, NoAnswer> {
        self.refunds_asked.fetch_add(1, Ordering::SeqCst);
        until("all who ask for a refund have asked", || async {
            self.refunds_asked.load(Ordering::SeqCst) >= self.refunds_meet.load(Ordering::SeqCst)
        })
        .await;
        if counts_down(&self.failing_refunds) {
            return Err(silence());
        }
        let reference = self.books.refund(payment, charge, amount).await?;
        if counts_down(&self.lost_refund_answers) { Err(silence()) } else { Ok(reference) }
    }

    async fn books(&self, after: Option<&str>) -> Result<Vec<Listed>, NoAnswer> {
        self.books.books(after).await
    }
}
