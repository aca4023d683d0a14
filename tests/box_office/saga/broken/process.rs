//! A server that can be killed: everything of it lives in a runtime of its own, which ends at once, wherever it waits.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use matinee::box_office::BoxOffice;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::support::until;
use crate::support::wires::Wires;

/// The server.
pub struct Process {
    runtime: Option<Runtime>,
    office: Arc<BoxOffice>,
}

impl Process {
    /// Starts one that speaks over these wires; waiting for its gateway it has the usual patience, or this one.
    pub async fn start(wires: &Arc<Wires>, patience: Option<Duration>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let wires = Arc::clone(wires);
        let office = runtime.spawn(async move {
            let mut office = wires.office();
            office.patience = patience.unwrap_or(office.patience);
            office
        });
        let office = office.await.unwrap();
        Self { runtime: Some(runtime), office: Arc::new(office) }
    }

    /// Does something in it.
    pub fn does<T, F>(&self, work: impl FnOnce(Arc<BoxOffice>) -> F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.runtime.as_ref().unwrap().spawn(work(Arc::clone(&self.office)))
    }

    /// Ends it as kill -9 does.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Returns once nothing in it is at work any more.
    pub async fn is_idle(&self) {
        until("the server is idle", || async { Arc::strong_count(&self.office) == 1 }).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
