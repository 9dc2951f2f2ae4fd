import {
  type AddHelpTextContext,
  type AddHelpTextPosition,
  type Argument,
  Command,
  Help,
  type Option,
} from 'commander'
import { help, REFUSALS } from '../texts/zh-CN/help.ts'
import { widthOf, wrap } from './output.ts'

/*
 * Help in Chinese. In English it stands beside what it describes, in the files of the commands; its Chinese is found by the
 * English when the help is shown.
 */

/** A command whose help is in Chinese, and that of its subcommands. */
export class ChineseCommand extends Command {
  override createCommand(name?: string): Command {
    return new ChineseCommand(name)
  }

  override createHelp(): Help {
    return Object.assign(new ChineseHelp(), this.configureHelp())
  }

  override addHelpText(
    position: AddHelpTextPosition,
    text: string | ((context: AddHelpTextContext) => string),
  ): this {
    return super.addHelpText(position, context => {
      const english = typeof text === 'string' ? text : text(context)
      return `\n${english.trim().split('\n\n').map(paragraph).join('\n\n')}`
    })
  }
}

class ChineseHelp extends Help {
  override styleTitle(title: string): string {
    return chinese(title)
  }

  override commandDescription(command: Command): string {
    return chinese(super.commandDescription(command))
  }

  override subcommandDescription(command: Command): string {
    return chinese(super.subcommandDescription(command))
  }

  override optionDescription(option: Option): string {
    return described(option, super.optionDescription(option))
  }

  override argumentDescription(argument: Argument): string {
    return described(argument, super.argumentDescription(argument))
  }

  override displayWidth(text: string): number {
    return widthOf(text)
  }

  override boxWrap(text: string, width: number): string {
    return wrap(text, width).join('\n')
  }
}

/** The Chinese of a text of the help, however its lines are broken; the text itself where there is none. */
export function chinese(text: string): string {
  return help[text.replaceAll(/\s+/g, ' ')] ?? text
}

/** A description, with the values that it may have and the one that it has by default. */
function described({ description }: { description: string }, whole: string): string {
  const facts = whole.slice(description.length).match(/(?:choices|default): (?:"[^"]*"(?:, )?|[^,)]+)+/g)
  const values = facts?.map(fact => fact.replace(/^\w+:/, chinese).replace(/, $/, '')).join('；')
  return chinese(description) + (values ? `（${values}）` : '')
}

/** Paragraphs are broken anew. An example is a command, whose quoted words are the reader's own, and what it does. */
function paragraph(text: string): string {
  const [title = '', ...lines] = text.split('\n')
  if (!lines[0]?.startsWith('  ')) return wrap(chinese(text), 80).join('\n')
  const examples = lines.map(line => {
    const [, command = line, blanks = '', does = ''] = /^(.*\S)( {2,})(\S.*)$/.exec(line) ?? []
    return command.replaceAll(/(?<=")[^"]+(?=")/g, chinese) + blanks + chinese(does)
  })
  return [chinese(title), ...examples].join('\n')
}

/** What commander says of arguments that it refuses. */
export function refusal(words: string): string {
  return REFUSALS.reduce((told, [said, ours]) => told.replace(said, ours), words)
}
