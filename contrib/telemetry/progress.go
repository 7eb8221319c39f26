package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// Progress returns a function for the Progress field of one operation. It adds each step to
// the span in ctx, counts steps and received bytes, and calls next if it is not nil.
func (t *Telemetry) Progress(ctx context.Context, next func(provider.Event)) func(provider.Event) {
	type key struct {
		provider addrs.Provider
		version  addrs.Version
		platform addrs.Platform
	}
	seen := map[key]int64{} // counted bytes
	span := trace.SpanFromContext(ctx)
	return func(e provider.Event) {
		k := key{e.Provider, e.Version, e.Platform}
		switch e.Kind {
		case provider.EventBytes:
			if e.Bytes > seen[k] {
				t.bytes.Add(ctx, e.Bytes-seen[k])
			}
			seen[k] = e.Bytes
		default:
			step := keyEvent.String(string(e.Kind))
			span.AddEvent(string(e.Kind), trace.WithAttributes(attributes(e.Provider, e.Version, e.Platform)...))
			t.packages.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(step)))
			if e.Kind == provider.EventRestarted {
				seen[k] = 0
			}
		}
		if next != nil {
			next(e)
		}
	}
}
