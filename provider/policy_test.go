package provider_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	p, err := addrs.ParseProvider("acme/alpha")
	if err != nil {
		t.Fatal(err)
	}
	if got := provider.Policies(nil).For(p); got.AllowUnsigned || !got.NeedsEvidence() {
		t.Errorf("Policies(nil).For(%s) = %+v, want the zero policy", p, got)
	}
	asked := provider.Policies(func(q addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: q == p} })
	if !asked.For(p).AllowUnsigned || asked.For(addrs.Provider{}).AllowUnsigned {
		t.Errorf("For(%s) does not return what the function returns for it", p)
	}
}
