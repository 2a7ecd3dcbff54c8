import type { Pdu } from "../../shared/smpp/pdu.ts";
import type { BindRequest } from "../../shared/smpp/server.ts";
import type { Session } from "../../shared/smpp/session.ts";
import { STATUS } from "../../shared/smpp/statuses.ts";
import type { BehaviourSwitch } from "../domain/behaviour.ts";

interface Account {
  readonly systemId: string;
  readonly password: string;
}

/** Authenticates binds and applies the faults of bind, unbind and enquire_link. */
export class Binds {
  readonly #account: Account;
  readonly #behaviour: BehaviourSwitch;
  readonly #refused = new WeakMap<Session, number>();

  constructor(account: Account, behaviour: BehaviourSwitch) {
    this.#account = account;
    this.#behaviour = behaviour;
  }

  authenticate(bind: BindRequest, session: Session): number {
    const refusal = this.#refused.get(session);
    if (refusal !== undefined) return refusal;
    const { systemId, password } = this.#account;
    if (bind.body.systemId !== systemId) return STATUS.ESME_RINVSYSID;
    if (bind.body.password !== password) return STATUS.ESME_RINVPASWD;
    return STATUS.ESME_ROK;
  }

  /** Returns true when a fault drops the PDU. */
  intercept(pdu: Pdu, session: Session): boolean {
    if (pdu.command === "unbind") return this.#behaviour.strike("unbind") !== undefined;
    if (pdu.command === "enquire_link") return this.#behaviour.strike("enquire_link") !== undefined;
    if (!pdu.command.startsWith("bind_") || pdu.command.endsWith("_resp")) return false;
    const fault = this.#behaviour.strike("bind");
    if (fault === undefined) return false;
    if (fault.name === "bind_unanswered") return true;
    this.#refused.set(session, fault.status ?? STATUS.ESME_RBINDFAIL);
    return false;
  }
}
