import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Attempt } from './notifications.ts'

/** More of an answer is not read: `success` is all that counts. */
const MAX_ANSWER_BYTES = 1024
const MAX_KEPT_CHARACTERS = 100

/** Posts a form over a connection of its own, follows nothing, and tells what came back; never rejects. */
export async function postForm(url: string, body: string, signal: AbortSignal): Promise<Omit<Attempt, 'at'>> {
  try {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const request = send(url, { method: 'POST', agent: false, headers, signal })
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const answer = await readAnswer(response)
    return { httpStatus: response.statusCode ?? 0, answer, error: null }
  } catch (error) {
    const { code, name } = (signal.aborted ? signal.reason : error) as NodeJS.ErrnoException
    return { httpStatus: null, answer: null, error: typeof code === 'string' ? code : name }
  }
}

async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, MAX_KEPT_CHARACTERS)
}
