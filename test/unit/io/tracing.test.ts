import { expect } from "chai";
import { createLogger } from "../../../services/shared/io/log.ts";
import { openTracer } from "../../../services/shared/io/tracer.ts";
import {
  following,
  recordedTrace,
  type Tracer,
  traceFields,
  useTracer,
} from "../../../services/shared/io/tracing.ts";
import { readTracingConfig } from "../../../services/shared/io/tracing-settings.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { importsOf, repositoryFiles, type SourceFile } from "../../support/source-files.ts";

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
/** The discard port of loopback: connections are refused. */
const UNREACHABLE = "http://127.0.0.1:9";
const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
const isRecorded = (traceparent: string) => traceparent.endsWith("-01");

describe("traces", () => {
  let opened: Tracer | undefined;
  let receiver: OtlpReceiver;
  const saved = process.env[ENDPOINT];
  before(async () => {
    receiver = await startOtlpReceiver();
  });
  after(() => receiver.close());
  afterEach(async () => {
    useTracer(undefined);
    await opened?.close();
    opened = undefined;
    if (saved === undefined) delete process.env[ENDPOINT];
    else process.env[ENDPOINT] = saved;
  });

  function open(settings: Record<string, string> = {}): Tracer {
    const all = { [ENDPOINT]: receiver.url, ...settings };
    process.env[ENDPOINT] = all[ENDPOINT];
    const config = readTracingConfig(all);
    if (config === undefined) throw new Error("traces are off");
    const log = createLogger("test", "silent");
    opened = openTracer({ service: "test", config, log });
    useTracer(opened);
    return opened;
  }

  it("are off without an endpoint, and when disabled", () => {
    expect(readTracingConfig({})).to.equal(undefined);
    expect(readTracingConfig({ [ENDPOINT]: "" })).to.equal(undefined);
    const on = { [ENDPOINT]: UNREACHABLE };
    expect(readTracingConfig({ ...on, OTEL_SDK_DISABLED: "true" })).to.equal(undefined);
    expect(readTracingConfig({ ...on, OTEL_TRACES_EXPORTER: "none" })).to.equal(undefined);
    expect(readTracingConfig(on)).to.include({ OTEL_TRACES_SAMPLER: "parentbased_always_on" });
  });

  it("load no OpenTelemetry package while off", () => {
    const sources = repositoryFiles().filter(({ path }) =>
      /^(services|gateway)\/.*\.ts$/.test(path),
    );
    const importing = (pattern: RegExp) =>
      sources.filter((file) => importsOf(file).some((name) => pattern.test(name)));
    const paths = (files: readonly SourceFile[]) => files.map(({ path }) => path);
    const tracer = "services/shared/io/tracer.ts";
    expect(paths(importing(/^@opentelemetry\//))).to.deep.equal([tracer]);
    // `process.ts` imports the tracer when an endpoint is set.
    const [only, ...others] = importing(/shared\/io\/tracer\.ts$/);
    expect(only?.text).to.include('await import("./io/tracer.ts")');
    expect(only?.text).not.to.match(/from "\.\/io\/tracer\.ts"/);
    expect(paths(others)).to.deep.equal([]);
  });

  it("refuse an invalid sampler or ratio", () => {
    const on = { [ENDPOINT]: UNREACHABLE };
    expect(() => readTracingConfig({ ...on, OTEL_TRACES_SAMPLER: "some" })).to.throw("SAMPLER");
    expect(() => readTracingConfig({ ...on, OTEL_TRACES_SAMPLER_ARG: "2" })).to.throw("ARG");
  });

  it("add nothing to stored work or log lines while off", () => {
    expect(recordedTrace(`${PARENT}-01`)).to.equal(undefined);
    expect(traceFields(`${PARENT}-01`)).to.deep.equal({});
  });

  const SAMPLED: readonly (readonly [string, string, boolean, boolean])[] = [
    // Sampler, parent's flags, recorded inside, recorded at the edge.
    ["parentbased_always_on", "01", true, true],
    ["parentbased_always_on", "00", false, true],
    ["parentbased_always_off", "01", true, false],
    ["always_on", "00", true, true],
    ["always_off", "01", false, false],
    ["traceidratio", "01", true, true],
  ];
  for (const [sampler, flags, inside, edge] of SAMPLED) {
    it(`${sampler}, parent ${flags}: ${inside} inside, ${edge} at the edge`, () => {
      const tracer = open({ OTEL_TRACES_SAMPLER: sampler });
      const parent = `${PARENT}-${flags}`;
      const inner = tracer.start("inner", { kind: "internal", parent });
      expect(isRecorded(inner.traceparent)).to.equal(inside);
      const outer = tracer.start("outer", { kind: "server", parent, isEdge: true });
      expect(isRecorded(outer.traceparent)).to.equal(edge);
      expect(outer.traceparent.slice(0, 35)).to.equal(PARENT.slice(0, 35));
      for (const span of [inner, outer]) span.end();
    });
  }

  it("record about the configured ratio", () => {
    const tracer = open({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" });
    let recorded = 0;
    for (let at = 0; at < 4000; at += 1) {
      const span = tracer.start("one", { kind: "internal" });
      if (recordedTrace(span.traceparent) !== undefined) recorded += 1;
    }
    expect(recorded).to.be.within(800, 1200);
  });

  it("link late work to its cause and start a new trace for it", () => {
    const parent = `${PARENT}-01`;
    expect(following(parent, 600_000)).to.deep.equal({ parent });
    expect(following(parent, 600_001)).to.deep.equal({ links: [parent] });
  });

  it("drop spans beyond the size of the queue", async function () {
    this.timeout(10_000);
    const queue = { OTEL_BSP_MAX_QUEUE_SIZE: "100", OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "50" };
    const countBefore = receiver.spans.length;
    const tracer = open(queue);
    for (let at = 0; at < 20_000; at += 1) tracer.start("one", { kind: "internal" }).end();
    await tracer.close();
    // The exporter may have sent a batch before the queue was full.
    expect(receiver.spans.length - countBefore).to.be.within(50, 150);
  });

  it("close within a few seconds when the endpoint is away", async function () {
    this.timeout(10_000);
    const queue = { OTEL_BSP_MAX_QUEUE_SIZE: "100", OTEL_BSP_SCHEDULE_DELAY: "1" };
    const tracer = open({ [ENDPOINT]: UNREACHABLE, ...queue });
    for (let at = 0; at < 20_000; at += 1) tracer.start("one", { kind: "internal" }).end();
    const startedMs = performance.now();
    await tracer.close();
    expect(performance.now() - startedMs).to.be.below(5000);
  });
});
