// Package telemetry reports what a client of
// [github.com/tofureg/tofureg] does as OpenTelemetry spans and metrics.
//
//	t, err := telemetry.New(tracerProvider, meterProvider)
//	registry := &regclient.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: t.Transport(nil)}}}
//	ctx, span := t.Start(ctx, "init")
//	defer span.End()
//	installer := &install.Installer{Source: t.Source(registry), Dir: dir, Progress: t.Progress(ctx, nil)}
//
// [Telemetry.Transport] has a span and the duration of each request, by the semantic
// conventions for HTTP. [Telemetry.Source] has a span for each question to a source and for
// each archive. [Telemetry.Progress] adds the steps of a job to its span, and counts
// packages and bytes.
//
// Attributes have no secrets: URLs lose user information, query and fragment, and a path
// segment that looks like a token is masked. Headers are not recorded.
//
// The package links 11 modules beside those of the core, and adds 0.6 MB to a program.
package telemetry
