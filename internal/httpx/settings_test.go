package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"testing/synctest"
)

// TestRetries checks the attempts for documents and archives.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ retries, archives, wantDocument, wantArchive int }{
		{0, 0, 3, 3}, {4, 0, 5, 5}, {-1, 0, 1, 1}, {-9, 0, 1, 1}, {1, 3, 2, 4}, {-1, 2, 1, 3}, {2, -1, 3, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(status(503, ""))
			c := client(t, s)
			c.Retries, c.ArchiveRetries = test.retries, test.archives
			_, err := c.Get(t.Context(), get(start))
			documents := asError(t, err).Attempts
			_, err = c.Open(t.Context(), get(start))
			if archives := asError(t, err).Attempts; documents != test.wantDocument || len(s.seen()) != documents+archives || archives != test.wantArchive {
				t.Errorf("%+v: %d and %d attempts", test, documents, archives)
			}
		})
	}
}

// TestManyRetries: the largest number of retries is valid.
func TestManyRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, serve(status(503, ""), status(200, "")))
		c.Retries = math.MaxInt
		if _, err := c.Get(t.Context(), get(start)); err != nil {
			t.Errorf("Get with %d retries: %v", c.Retries, err)
		}
	})
}

// TestTimeoutOfTransport: a timeout of the transport itself, such as ResponseHeaderTimeout, is no error
// of a context.
func TestTimeoutOfTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, serve(fails(fmt.Errorf("waiting for headers: %w", context.DeadlineExceeded))))
		_, err := c.Get(t.Context(), get(start))
		if e := asError(t, err); !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || e.Attempts != 3 {
			t.Errorf("Get = %v after %d attempts, want os.ErrDeadlineExceeded after 3", err, e.Attempts)
		}
	})
}
