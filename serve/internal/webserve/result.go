package webserve

import (
	"context"
	"sync/atomic"

	"github.com/tofureg/tofureg/serve/access"
)

// result collects what caches say about one answer. Work for it may be shared with other requests, and outlive it.
type result struct{ marks atomic.Int32 }

// A Mark says where an answer, or a part of it, came from.
type Mark int32

const (
	Reused Mark = 1 << iota // from the memory of the server
	Asked                   // from a source, which may be a cache
	Hit                     // from a cache
	Miss                    // from the source of a cache
)

// value returns the result. What a cache says counts more than that it was asked.
func (r *result) value() access.Result {
	marks := Mark(r.marks.Load())
	switch {
	case marks&Miss != 0, marks&(Hit|Asked) == Asked:
		return access.Miss
	case marks != 0:
		return access.Hit
	}
	return ""
}

type resultKey struct{}

// Note adds a mark to the answer of a request, if ctx comes from its handler and Access is set.
func Note(ctx context.Context, mark Mark) {
	if r, ok := ctx.Value(resultKey{}).(*result); ok {
		r.marks.Or(int32(mark))
	}
}

// Collect returns a context for work that several requests share, and a function that returns its marks.
func Collect(ctx context.Context) (context.Context, func() Mark) {
	if ctx.Value(resultKey{}) == nil {
		return ctx, func() Mark { return 0 }
	}
	shared := &result{}
	return context.WithValue(ctx, resultKey{}, shared), func() Mark { return Mark(shared.marks.Load()) }
}
