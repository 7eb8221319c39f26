// Package telemetry reports requests and operations as OpenTelemetry spans and metrics. It is experimental.
//
//	t, err := telemetry.New(tracerProvider, meterProvider)
//	registry := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: t.Transport(nil)}}}
//	ctx, span := t.Start(ctx, "init")
//	defer span.End()
//	installer := &install.Installer{Source: t.Source(registry), Dir: dir, Progress: t.Progress(ctx, nil)}
//
// [Telemetry.Transport] records a span and the duration of each request, by the semantic
// conventions for HTTP. [Telemetry.Source] and [Telemetry.ModuleSource] record a span for each call
// of a source and for each archive. [Telemetry.Progress] adds the steps of an operation to its span, and counts
// packages and bytes. [Telemetry.Access] records what a server of this module has served.
//
// Attributes contain no secrets: URLs are recorded without user information, query and
// fragment, and with tokens in their path masked. Headers are not recorded.
//
// This package is a separate Go module. It adds 10 modules and 0.6 MB to a program.
package telemetry
