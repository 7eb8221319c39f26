package attest_test

import (
	"testing"

	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/contrib/attest/internal/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// TestSourceHides: a server does not take a mirror behind Source for a mirror, whose packages it would not judge.
func TestSourceHides(t *testing.T) {
	t.Parallel()
	m := must.Get(mirrordir.Open(t.TempDir()))(t)
	if _, ok := provider.As[provider.Catalogue](m); !ok {
		t.Error("a mirror is no Catalogue")
	}
	if c, ok := provider.As[provider.Catalogue]((&attest.Verifier{}).Source(m)); ok {
		t.Errorf("As finds the Catalogue %T behind Source, want none", c)
	}
}
