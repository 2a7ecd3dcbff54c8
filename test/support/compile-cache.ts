const folder = process.env.TEST_COMPILE_CACHE;

/**
 * The environment in which a command line that a test starts finds the code that an earlier start compiled: a start
 * then takes a third of its CPU time. Not for services, whose memory is tested. Empty without a run of `make test`.
 */
export const COMPILE_CACHE: Readonly<Record<string, string>> =
  folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
