package regserve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
)

const (
	recently    = time.Minute // how long an answer is used
	recentBytes = 16 << 20    // of the answers about packages, and of those about modules
)

// answerValue is the path value of a request that has the digest of the answer for which its URL was signed.
const answerValue = "answer"

// recent has the latest answers of a source, because clients ask for several files after each document.
type recent[V any] struct {
	flight.Cache[asked, answer[V]]
}

// asked identifies an answer. A source may answer users differently, so if there are any, its digest belongs to it.
type asked struct {
	of     access.Entry // without its kind: several files belong to one answer
	digest string
}

type answer[V any] struct {
	value V
	size  int64
}

func (c *recent[V]) setup() {
	c.Bytes, c.Size = recentBytes, func(_ asked, a answer[V]) int64 { return a.size }
}

// find returns the answer of the source that a request is about: the one for which its URL was signed, or a
// new one. Without Authorize there are no users, and it is any answer of the last minute. The digest is empty
// then. The caller must not change the value.
func (c *recent[V]) find(r *http.Request, users bool, of access.Entry, ask func(context.Context) (V, error)) (value V, digest string, err error) {
	of.Kind = ""
	inner := ask
	ask = func(ctx context.Context) (V, error) {
		webserve.Note(ctx, webserve.Asked)
		return inner(ctx)
	}
	webserve.Note(r.Context(), webserve.Reused) // unless it is asked for
	if !users {
		a, err := c.Do(r.Context(), asked{of: of}, func(ctx context.Context) (answer[V], time.Duration, error) {
			v, err := ask(ctx)
			if err != nil {
				return answer[V]{}, 0, err
			}
			a, _, err := describe(v)
			return a, recently, err
		})
		return a.value, "", err
	}
	if digest = r.PathValue(answerValue); digest != "" {
		if a, ok := c.Get(asked{of, digest}); ok {
			return a.value, digest, nil
		}
	}
	if value, err = ask(r.Context()); err != nil {
		return value, "", err
	}
	a, digest, err := describe(value)
	if err == nil {
		c.Put(asked{of, digest}, a, recently)
	}
	return value, digest, err
}

// describe returns the answer with its size and its digest.
func describe[V any](value V) (a answer[V], digest string, err error) {
	data, err := json.Marshal(value)
	sum := sha256.Sum256(data)
	return answer[V]{value, int64(len(data))}, hex.EncodeToString(sum[:16]), err
}
