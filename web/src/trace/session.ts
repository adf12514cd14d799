// SPDX-License-Identifier: Apache-2.0
// Spans that are open, those of a trace or of a time: their worker, and what was asked of it.
import { signal } from "@preact/signals";
import { headers, needsToken, reason, type Refusal } from "../lib/api";
import { takeOpened } from "../lib/early";
import { type Trace, unpack } from "./model";
import type { Detail, Question, Reply } from "./worker";

declare const WORKER: string; // the address of the worker's script

export class Session {
  readonly trace = signal<Trace | undefined>(undefined);
  readonly error = signal<Refusal | undefined>(undefined);
  private readonly worker: Worker;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private numbers = 0;

  /** Asks for the spans of a path of the API: those of a trace, or of a time. */
  constructor(path: string) {
    const early = takeOpened(path);
    this.worker = early?.worker ?? new Worker(WORKER, { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => this.take(data);
    if (early) early.said.forEach((reply) => this.take(reply as Reply));
    else this.ask({ ask: "trace", path, headers: headers() });
  }

  private ask(question: Question): void {
    this.worker.postMessage(question);
  }

  private take(reply: Reply): void {
    if (reply.reply === "trace") {
      this.trace.value = unpack(reply.trace);
    } else if (reply.reply === "failed") {
      if (reply.status === 401) needsToken.value = true;
      this.error.value = reason(reply.status, reply.body);
    } else {
      this.waiting.get(reply.number)?.(reply);
      this.waiting.delete(reply.number);
    }
  }

  private answerTo(question: (number: number) => Question): Promise<Reply> {
    const number = ++this.numbers;
    return new Promise((resolve) => {
      this.waiting.set(number, resolve);
      this.ask(question(number));
    });
  }

  async detail(span: number): Promise<Detail> {
    const reply = await this.answerTo((number) => ({ ask: "detail", number, span }));
    return (reply as Extract<Reply, { reply: "detail" }>).detail;
  }

  async find(words: string): Promise<Uint8Array> {
    const reply = await this.answerTo((number) => ({ ask: "find", number, words }));
    return (reply as Extract<Reply, { reply: "found" }>).found;
  }

  close(): void {
    this.worker.terminate();
  }
}
