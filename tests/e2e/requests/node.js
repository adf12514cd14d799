// SPDX-License-Identifier: Apache-2.0
/*
 * A service in Node: each request asks redis, and PostgreSQL in a later turn of the loop, and answers
 * in a later turn again. The kernel sees neither of these hops.
 *
 * usage: node node.js LEDGER PORT redis=PORT postgres=PORT
 */
"use strict";
const fs = require("fs");
const http = require("http");
const net = require("net");

const [ledgerPath, port, ...rest] = process.argv.slice(2);
const ports = Object.fromEntries(rest.map((word) => word.split("=")));
const rows = [];

function now() {
	return process.hrtime.bigint();
}

function add(side, local, remote, begin, ident) {
	rows.push([side, local, remote, begin, now(), ident]);
}

/* Connections to a peer, each for one question at a time. */
class Pool {
	constructor(peerPort, end, greeting) {
		Object.assign(this, {peerPort, end, greeting, free: []});
	}

	open() {
		return new Promise((resolve) => {
			const socket = net.connect(Number(this.peerPort), "127.0.0.1", () => {
				socket.setNoDelay(true);
				resolve(socket);
			});
		});
	}

	async take() {
		if (this.free.length)
			return this.free.pop();
		const socket = await this.open();
		if (this.greeting)
			await this.exchange(socket, this.greeting);
		return socket;
	}

	exchange(socket, message) {
		return new Promise((resolve) => {
			let answer = Buffer.alloc(0);
			const take = (data) => {
				answer = Buffer.concat([answer, data]);
				if (!answer.subarray(-this.end.length).equals(this.end))
					return;
				socket.removeListener("data", take);
				resolve();
			};
			socket.on("data", take);
			socket.write(message);
		});
	}

	async ask(message, ident) {
		const socket = await this.take();
		const begin = now();
		await this.exchange(socket, message);
		add("c", socket.localPort, Number(this.peerPort), begin, ident);
		this.free.push(socket);
	}
}

function postgresMessage(type, body) {
	const head = Buffer.alloc(4);
	head.writeUInt32BE(body.length + 4);
	return Buffer.concat([Buffer.from(type), head, body]);
}

const startup = postgresMessage("", Buffer.concat([Buffer.from([0, 3, 0, 0]),
	Buffer.from("user\0postgres\0database\0postgres\0\0")]));
const redis = new Pool(ports.redis, Buffer.from("\r\n"));
const postgres = new Pool(ports.postgres, Buffer.from([0x5a, 0, 0, 0, 5, 0x49]), startup);

function turn() {
	return new Promise((resolve) => setImmediate(resolve));
}

async function serve(request, response) {
	const begin = now();
	const ident = request.url.split("/").pop();

	await redis.ask(`GET ${ident}.0\r\n`, `${ident}.0`);
	await turn();
	await postgres.ask(postgresMessage("Q", Buffer.from(`select '${ident}.1'\0`)), `${ident}.1`);
	await turn();
	response.setHeader("Content-Length", 2);
	response.end("ok");
	add("s", Number(port), request.socket.remotePort, begin, ident);
}

process.on("SIGTERM", () => {
	fs.writeFileSync(ledgerPath, rows.map(([side, local, remote, begin, end, ident]) =>
		`node ${side} ${local} ${remote} ${begin} ${end} ${ident} ${process.pid} 0\n`).join(""));
	process.exit(0);
});
const server = http.createServer(serve);
server.keepAliveTimeout = 600000;
server.listen(Number(port), "127.0.0.1");
