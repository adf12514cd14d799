// SPDX-License-Identifier: Apache-2.0
// Sends three traces with OpenTelemetry's SDK for Node: one by OTLP in JSON, one to Zipkin's
// receiver, one by OTLP over gRPC in gzip.
//
// sdk.js OTLP_URL ZIPKIN_URL GRPC_URL: prints the ids of the traces. NODE_PATH has the packages.
"use strict";
const { BasicTracerProvider, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");
const grpc = require("@opentelemetry/exporter-trace-otlp-grpc");
const { ZipkinExporter } = require("@opentelemetry/exporter-zipkin");
const { resourceFromAttributes } = require("@opentelemetry/resources");

async function send(service, exporter) {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": service }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const span = provider.getTracer("web", "1.0").startSpan("GET /node", { kind: 1 });
  span.setAttribute("user", 'ann "q" \u{1f600}');
  span.setAttribute("sizes", [1, 2]);
  span.setAttribute("ratio", 0.5);
  span.addEvent("cache miss", { key: "k1" });
  span.setStatus({ code: 2, message: "no money" });
  span.end();
  console.log(span.spanContext().traceId);
  await provider.shutdown();
}

async function main() {
  await send("node-json", new OTLPTraceExporter({ url: process.argv[2] }));
  await send("node-zipkin", new ZipkinExporter({ url: process.argv[3] }));
  await send("node-grpc", new grpc.OTLPTraceExporter({ url: process.argv[4], compression: "gzip" }));
}

main();
