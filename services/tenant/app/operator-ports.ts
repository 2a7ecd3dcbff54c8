import type { OperatorRole } from "../../shared/core/operator-roles.ts";
import type { Operator, OperatorSession } from "../domain/operator.ts";

/** An operator's link that signs in once. */
export type OperatorLink = { readonly person: string; readonly expiresAtMs: number };

/** The storage of operators, their links and sessions. Each change and its audit entry are one transaction. */
export type OperatorStore = {
  /**
   * Stores the link, and the operator with the role that `decide` returns for the present role. Returns the operator.
   */
  addLink(
    hash: Buffer,
    link: OperatorLink,
    decide: (present: OperatorRole | undefined) => OperatorRole,
    nowMs: number,
  ): Promise<Operator>;
  findLink(hash: Buffer): Promise<OperatorLink | undefined>;
  /**
   * Uses up the link and stores the session, both or neither. Returns the operator; undefined when the link was used
   * or the operator removed.
   */
  openSession(
    linkHash: Buffer,
    session: OperatorSession,
    secretHash: Buffer,
  ): Promise<Operator | undefined>;
  findByHash(hash: Uint8Array): Promise<OperatorSession | undefined>;
  findSession(id: string): Promise<OperatorSession | undefined>;
  /** The operator's sessions, newest first. */
  listSessions(person: string, max: number): Promise<readonly OperatorSession[]>;
  endSession(id: string): Promise<void>;
  touchSession(id: string, nowMs: number): Promise<void>;
  findOperator(person: string): Promise<Operator | undefined>;
  /** Lists operators in the order of their e-mail addresses. */
  listOperators(max: number): Promise<readonly Operator[]>;
  /** Removes the operator with all sessions and links; false when there is no such operator. */
  removeOperator(person: string): Promise<boolean>;
};
