import type { QuietHours } from "../../../proto/gen/sms/v1/routing_pb.js";
import type { Json } from "../../shared/cli/cell.ts";
import type { Options } from "../../shared/cli/options.ts";
import { AppError } from "../../shared/core/errors.ts";
import { formatQuietWindows, parseQuietWindows } from "../../shared/core/quiet-hours-text.ts";
import { TRAFFIC_CLASSES, type TrafficClass } from "../../shared/core/traffic-class.ts";
import { readQuietRule } from "../../shared/rpc/quiet-hours.ts";
import { WIRE_TRAFFIC_CLASS } from "../../shared/rpc/traffic-class.ts";
import type { Run } from "../cli/command.ts";

export const list: Run = async ({ clients, output }) => {
  const { quietHours } = await clients.routing.listQuietHours({});
  await output.list(quietHours.map(present), {
    columns: ["country", "traffic_class", "time_zone", "hours"],
  });
  const { quiet } = await clients.messaging.getQueueStats({});
  output.note(`messages that wait for the end of quiet hours: ${quiet}`);
  return 0;
};

export const set: Run = async ({ clients, options, output }) => {
  const { quietHours } = await clients.routing.setQuietHours({
    quietHours: {
      ...subjectOf(options),
      timeZone: options.required("zone"),
      windows: readWindows(options.required("hours")),
    },
  });
  if (quietHours !== undefined) await output.result(present(quietHours));
  return 0;
};

export const remove: Run = async ({ clients, options, output }) => {
  const { quietHours } = await clients.routing.removeQuietHours(subjectOf(options));
  if (quietHours !== undefined) await output.result({ ...present(quietHours), removed: true });
  return 0;
};

function subjectOf(options: Options) {
  const country = options.word(0, "The country").toUpperCase();
  const trafficClass = (options.optional("class") ?? "promotional") as TrafficClass;
  if (!TRAFFIC_CLASSES.includes(trafficClass)) {
    throw new AppError("validation_error", `--class must be one of ${TRAFFIC_CLASSES.join(", ")}.`);
  }
  return { country, trafficClass: WIRE_TRAFFIC_CLASS[trafficClass] };
}

function readWindows(text: string) {
  try {
    return parseQuietWindows(text);
  } catch (error) {
    throw new AppError("validation_error", "--hours must be such as 20:00-08:00,13:00-15:00.", {
      cause: error,
    });
  }
}

function present(quietHours: QuietHours): { readonly [name: string]: Json } {
  const { country, trafficClass, timeZone, windows } = readQuietRule(quietHours);
  return {
    ...{ country, traffic_class: trafficClass, time_zone: timeZone },
    hours: formatQuietWindows(windows),
  };
}
