// SPDX-License-Identifier: Apache-2.0

// Sends two traces with OpenTelemetry's SDK for Go: one by OTLP over HTTP in gzip, one over gRPC.
//
// sdk.go HTTP_HOST_PORT GRPC_HOST_PORT: prints the ids of the traces.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func send(ctx context.Context, service string, exporter sdk.SpanExporter, err error) {
	if err != nil {
		log.Fatal(err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", service), attribute.String("telemetry.sdk.language", "go"))))
	_, span := provider.Tracer("web").Start(ctx, "GET /go", trace.WithSpanKind(trace.SpanKindServer))
	span.SetAttributes(attribute.String("user", `ann "q"`), attribute.Int64Slice("sizes", []int64{1, 1 << 60}))
	span.AddEvent("cache miss", trace.WithAttributes(attribute.Bool("cold", true)))
	span.SetStatus(codes.Error, "no money")
	span.End()
	fmt.Println(span.SpanContext().TraceID())
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	byHTTP, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(os.Args[1]),
		otlptracehttp.WithInsecure(), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	send(ctx, "go-http", byHTTP, err)
	byGRPC, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(os.Args[2]), otlptracegrpc.WithInsecure())
	send(ctx, "go-grpc", byGRPC, err)
}
