// SPDX-License-Identifier: Apache-2.0
/* A server that answers after it has read a file, for which its pool of threads works. */
const fs = require('fs');
const http = require('http');

http.createServer((request, response) => {
	fs.readFile(__filename, (error, data) => response.end(data));
}).listen(Number(process.argv[2]), '127.0.0.1');
