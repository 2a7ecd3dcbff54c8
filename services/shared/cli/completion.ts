/**
 * Completion scripts for shells, made from the definition of a program. They complete words and options without
 * starting the program, which would take longer than a key press should.
 */
import {
  isFlag,
  isGroup,
  type OptionDefinition,
  optionName,
  optionsOf,
  type ProgramDefinition,
} from "./definition.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** One position of a command line: the words before it, and what may follow. */
type Place = {
  readonly path: readonly string[];
  readonly words: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OptionDefinition[];
};

const HELP: OptionDefinition = { flags: "--help", about: "Show this help." };

/** The script of a shell; its first lines say how to install it. */
export function completionScript<C>(program: ProgramDefinition<C>, shell: Shell): string {
  const places = placesOf(program);
  if (shell === "fish") return fishScript(program.name, places);
  return shell === "zsh" ? zshScript(program.name, places) : bashScript(program.name, places);
}

function placesOf<C>(program: ProgramDefinition<C>): Place[] {
  const shared = [...program.options, HELP];
  const root = { path: [], words: program.entries, options: shared };
  const rest = program.entries.flatMap((entry): Place[] => {
    if (!isGroup(entry)) {
      return [{ path: [entry.name], words: [], options: [...optionsOf(entry), ...shared] }];
    }
    const commands = entry.commands.map((command) => ({
      path: [entry.name, command.name],
      words: [],
      options: [...optionsOf(command), ...shared],
    }));
    return [{ path: [entry.name], words: entry.commands, options: shared }, ...commands];
  });
  return [root, ...rest];
}

/** The words typed so far that name commands; others are values. Bash and zsh share the loop. */
function pathLoop(places: readonly Place[], words: string, last: string): string {
  const known = places.map(({ path }) => `"${path.map((word) => ` ${word}`).join("")}"`).join("|");
  return [
    `  local place="" at`,
    `  for ((at = ${words}; at < ${last}; at++)); do`,
    `    case "$place \${words[at]}" in`,
    `      ${known}) place="$place \${words[at]}" ;;`,
    "    esac",
    "  done",
  ].join("\n");
}

function bashScript(program: string, places: readonly Place[]): string {
  const cases = places.map(({ path, words, options }) => {
    const all = [...words.map(({ name }) => name), ...options.map((one) => `--${optionName(one)}`)];
    return `    "${path.map((word) => ` ${word}`).join("")}") list="${all.join(" ")}" ;;`;
  });
  return `# ${program} completion bash > ~/.local/share/bash-completion/completions/${program}
_${program}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" list=""
  local words=("\${COMP_WORDS[@]}")
${pathLoop(places, "1", "COMP_CWORD")}
  case "$place" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$list" -- "$cur"))
}
complete -o default -F _${program} ${program}
`;
}

function zshScript(program: string, places: readonly Place[]): string {
  const item = (name: string, about: string) => `'${name}:${about.replaceAll(/[':]/g, "")}'`;
  const cases = places.map(({ path, words, options }) => {
    const all = [
      ...words.map(({ name, about }) => item(name, about)),
      ...options.map((one) => item(`--${optionName(one)}`, one.about)),
    ];
    return `    "${path.map((word) => ` ${word}`).join("")}") list=(${all.join(" ")}) ;;`;
  });
  return `#compdef ${program}
# ${program} completion zsh > "\${fpath[1]}/_${program}"
_${program}() {
  local -a list
${pathLoop(places, "2", "CURRENT")}
  case "$place" in
${cases.join("\n")}
  esac
  _describe '${program}' list || _files
}
if [ "$funcstack[1]" = "_${program}" ]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function fishScript(program: string, places: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "")}'`;
  const lines = places.flatMap(({ path, words, options }) => {
    const isAt = fishCondition(
      path,
      words.map(({ name }) => name),
    );
    const start = `complete -c ${program} -n ${quoted(isAt)}`;
    return [
      ...words.map(({ name, about }) => `${start} -f -a ${name} -d ${quoted(about)}`),
      ...options.map((one) => {
        const value = isFlag(one) ? "" : " -r";
        return `${start} -l ${optionName(one)}${value} -d ${quoted(one.about)}`;
      }),
    ];
  });
  return `# ${program} completion fish > ~/.config/fish/completions/${program}.fish\n${lines.join("\n")}\n`;
}

/** The condition of fish for a place: all words of its path were typed, and no word that may follow them. */
function fishCondition([group, ...rest]: readonly string[], next: readonly string[]): string {
  if (group === undefined) return "__fish_use_subcommand";
  const seen = [group, ...rest].map((word) => `__fish_seen_subcommand_from ${word}`);
  const not = next.length === 0 ? [] : [`not __fish_seen_subcommand_from ${next.join(" ")}`];
  return [...seen, ...not].join("; and ");
}
