package regclient_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tofureg/tofureg/failure"
)

// TestModulePagesLimit: the limit of versions holds for all pages together.
func TestModulePagesLimit(t *testing.T) {
	t.Parallel()
	const first, limit = 60_000, 100_000
	for total, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
		requests := 0
		c := answering(t, func() []byte {
			requests++
			if requests == 1 {
				return []byte(pageOf(0, first, fmt.Sprintf(`,"total":%d`, total)))
			}
			return []byte(pageOf(first, total-first, fmt.Sprintf(`,"total":%d`, total)))
		})
		versions, err := c.ModuleVersions(t.Context(), network)
		if !errors.Is(err, want) || requests != 2 {
			t.Errorf("%d in %d pages: %v, want %v", total, requests, err, want)
		}
		if err == nil && len(versions.List) != total {
			t.Errorf("%d versions, want %d", len(versions.List), total)
		}
	}
}
