/** The `HandlerContext` of one call; its costly parts are created on access. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { Route } from "./routes.ts";

/** The abort reason after the response. */
const ENDED = new ConnectError("the call has ended", Code.Canceled);

/**
 * A class with getters on its prototype, because each call creates one: most handlers read neither headers nor
 * signal, and `Headers` and `AbortController` would cost more than the call itself.
 */
export class CallScope implements HandlerContext {
  readonly method: DescMethod;
  readonly service: DescService;
  readonly protocolName: string;
  readonly requestMethod = "POST";
  readonly url: string;
  /** The caller's deadline, in milliseconds since the Unix epoch. */
  readonly deadlineAtMs: number | undefined;
  /** Response headers and trailers, if the handler has accessed them. */
  sentHeader: Headers | undefined;
  sentTrailer: Headers | undefined;
  readonly #readHeader: () => Headers;
  #header: Headers | undefined;
  #values: ContextValues | undefined;
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;
  #ended: { readonly reason: unknown } | undefined;

  constructor(
    route: Route,
    protocolName: string,
    readHeader: () => Headers,
    deadlineAtMs: number | undefined,
    values?: ContextValues,
  ) {
    this.method = route.spec.method;
    this.service = route.spec.method.parent;
    this.protocolName = protocolName;
    this.url = route.path;
    this.deadlineAtMs = deadlineAtMs;
    this.#readHeader = readHeader;
    this.#values = values;
  }

  /** Milliseconds until the deadline, or undefined without one. */
  timeoutMs(): number | undefined {
    return this.deadlineAtMs === undefined ? undefined : this.deadlineAtMs - Date.now();
  }

  get requestHeader(): Headers {
    this.#header ??= this.#readHeader();
    return this.#header;
  }

  get responseHeader(): Headers {
    this.sentHeader ??= new Headers();
    return this.sentHeader;
  }

  get responseTrailer(): Headers {
    this.sentTrailer ??= new Headers();
    return this.sentTrailer;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues();
    return this.#values;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#controller = new AbortController();
      this.#signal = this.#controller.signal;
      if (this.#ended !== undefined) this.#controller.abort(this.#ended.reason);
    }
    return this.#signal;
  }

  /** Ends the scope: cancelled, timed out or answered. Aborts the signal, as Connect does. */
  end(reason?: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    // Without a reason, `abort` would create an error with a stack for every call.
    this.#controller?.abort(reason ?? ENDED);
  }
}
