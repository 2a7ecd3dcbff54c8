// Loaded first by the commands of the Makefile: Ctrl-C prints one word and no stack trace. JavaScript, because any Node
// from 20 on must be able to load it.
process.once("SIGINT", () => {
  process.stderr.write("interrupted\n");
  process.exitCode = 130;
  // A command that listens itself ends what it started first.
  if (process.listenerCount("SIGINT") === 0) process.exit();
});
