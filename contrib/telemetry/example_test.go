package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/telemetry"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// The spans of an init show the operations and their requests.
func Example() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}})
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	spans := tracetest.NewInMemoryExporter()
	t, err := telemetry.New(trace.NewTracerProvider(trace.WithSyncer(spans)), sdkmetric.NewMeterProvider())
	if err != nil {
		log.Fatal(err)
	}
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: t.Transport(reg)}}}
	ctx, span := t.Start(context.Background(), "init")
	installer := &install.Installer{
		Source: t.Source(registry), Dir: &install.Dir{Path: dir},
		Platform: addrs.MustParsePlatform("linux_amd64"), Progress: t.Progress(ctx, nil),
	}
	required := install.Requirements{
		addrs.MustParseProvider("registry.example.com/acme/alpha"): addrs.MustParseProviderConstraint("~> 1.0"),
	}
	_, err = installer.Ensure(ctx, required, nil)
	telemetry.End(span, err)
	fmt.Print(tree(spans.GetSpans(), ""))
	// Output:
	// init: resolving, unpacking, verified, installed
	//   fetch archive
	//     GET
	//   fetch evidence
	//     GET
	//     GET
	//   find package
	//     GET
	//   list versions
	//     GET
	//     GET
}

// tree formats the spans below a parent, sorted by name.
func tree(spans tracetest.SpanStubs, parent string) string {
	var lines []string
	for _, s := range spans {
		above := ""
		if s.Parent.HasSpanID() {
			above = s.Parent.SpanID().String()
		}
		if above != parent {
			continue
		}
		var events []string
		for _, e := range s.Events {
			events = append(events, e.Name)
		}
		line := s.Name
		if len(events) > 0 {
			line += ": " + strings.Join(events, ", ")
		}
		for below := range strings.Lines(tree(spans, s.SpanContext.SpanID().String())) {
			line += "\n  " + strings.TrimSuffix(below, "\n")
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// All parts together: an installer with spans, and a server with metrics.
func Example_parts() {
	ctx, dir := context.Background(), &install.Dir{Path: ".terraform/providers"}
	tracerProvider, meterProvider := trace.NewTracerProvider(), sdkmetric.NewMeterProvider() // with your exporters

	t, err := telemetry.New(tracerProvider, meterProvider)
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: t.Transport(nil)}}}
	ctx, span := t.Start(ctx, "init")
	defer span.End()
	installer := &install.Installer{Source: t.Source(registry), Dir: dir, Progress: t.Progress(ctx, nil)}
	server := &regserve.Handler{Providers: registry, Access: t.Access(nil)}

	_, _, _ = installer, server, err
}
