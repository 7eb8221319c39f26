package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tofureg/tofureg/serve/access"
)

// Access returns a function for the field Access of servers. It records the duration and the bytes of each
// answer, with its kind, its status, whether it was aborted, and whether a cache had it, and calls next if it
// is not nil. The subject is not an attribute, because clients choose it.
func (t *Telemetry) Access(next func(context.Context, access.Entry)) func(context.Context, access.Entry) {
	return func(ctx context.Context, e access.Entry) {
		about := []attribute.KeyValue{
			keyKind.String(string(e.Kind)), attribute.Int("http.response.status_code", e.Status), keyAborted.Bool(e.Aborted),
		}
		if e.Cache != "" {
			about = append(about, keyCache.String(string(e.Cache)))
		}
		set := metric.WithAttributeSet(attribute.NewSet(about...))
		t.served.Record(ctx, e.Duration.Seconds(), set)
		t.sent.Add(ctx, e.Bytes, set)
		if next != nil {
			next(ctx, e)
		}
	}
}
