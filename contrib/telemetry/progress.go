package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/progress"
)

// ends are the events that end the work on a package; installing follows some of them.
var ends = []progress.Kind{
	progress.Verified, progress.Hashed, progress.Reused, progress.Installed, progress.Kept, progress.Failed,
}

// Progress returns a function for the Progress field of one operation. It adds each step to
// the span in ctx, counts packages and received bytes, and calls next if it is not nil. A package
// counts once, when it is verified, or found in the plugin directory, a cache or a mirror, or has
// failed.
func (t *Telemetry) Progress(ctx context.Context, next func(progress.Event)) func(progress.Event) {
	type key struct {
		provider addrs.Provider
		version  addrs.Version
		platform addrs.Platform
	}
	seen := map[key]int64{} // counted bytes
	counted := map[key]bool{}
	span := trace.SpanFromContext(ctx)
	return func(e progress.Event) {
		k := key{e.Provider, e.Version, e.Platform}
		switch e.Kind {
		case progress.Bytes:
			if e.Bytes > seen[k] {
				t.bytes.Add(ctx, e.Bytes-seen[k])
			}
			seen[k] = e.Bytes
		default:
			span.AddEvent(string(e.Kind), trace.WithAttributes(attributes(e.Provider, e.Version, e.Platform)...))
			if slices.Contains(ends, e.Kind) && !counted[k] {
				counted[k] = true
				t.packages.Add(ctx, 1, metric.WithAttributes(keyEvent.String(string(e.Kind))))
			}
			if e.Kind == progress.Restarted {
				seen[k] = 0
			}
		}
		if next != nil {
			next(e)
		}
	}
}
