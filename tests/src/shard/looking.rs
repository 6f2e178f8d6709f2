//! Looking up: what the record says, and nothing changes.

use oncegate_core::key::KeyKind;
use oncegate_core::problem::{Code, Problem};

use super::cancel::about_another;
use super::{Shard, respond};
use crate::env::Env;
use crate::model::{Body, Call, Response};

impl Shard {
    pub(super) fn look_up_for(&self, env: &mut Env, call: Call) {
        let response = self.seen(env, call);
        respond(env, call, response);
    }

    fn seen(&self, env: &Env, call: Call) -> Response {
        if env.settings.kind == KeyKind::Generated {
            return about_another();
        }
        if env.rows_are_newer {
            let problem = Problem::new(Code::GateUnavailable).retry_after(1_000);
            return Response::problem(problem, None);
        }
        let now_ms = self.now_ms(env);
        let row = self.rows.get(&call.key);
        Response {
            http: 200,
            status: None,
            body: Body::Seen(row.map(|row| row.record.view(now_ms))),
        }
    }
}
