import type { OperatorRole } from "../../shared/core/operator-roles.ts";
import type { Operator, OperatorSession } from "../domain/operator.ts";

/** An operator's link that signs in once. */
export type OperatorLink = { readonly person: string; readonly expiresAtMs: number };

/** The storage of operators, their links and sessions. Each change and its audit entry are one transaction. */
export type OperatorStore = {
  /**
   * Stores the operator with the role that `decide` gives for the present one, and the link. Returns the operator.
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
  /** Newest first. */
  listSessions(person: string, max: number): Promise<readonly OperatorSession[]>;
  endSession(id: string): Promise<void>;
  touchSession(id: string, nowMs: number): Promise<void>;
  findOperator(person: string): Promise<Operator | undefined>;
  /** In the order of the addresses. */
  listOperators(max: number): Promise<readonly Operator[]>;
  /** Also ends sessions and links; false when there is no such operator. */
  removeOperator(person: string): Promise<boolean>;
};
