package provider

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Policies returns the policy for the packages of a provider. It may be called concurrently. A nil one is valid: see [Policies.For].
type Policies func(addrs.Provider) verify.Policy

// For returns f(p). If f is nil, it returns the zero policy, which demands a signature.
func (f Policies) For(p addrs.Provider) verify.Policy {
	if f == nil {
		return verify.Policy{}
	}
	return f(p)
}
