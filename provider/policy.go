package provider

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Policies returns the policy for a provider. Calls may be concurrent.
type Policies func(addrs.Provider) verify.Policy

// For returns f(p), or the zero policy if f is nil.
func (f Policies) For(p addrs.Provider) verify.Policy {
	if f == nil {
		return verify.Policy{}
	}
	return f(p)
}

// CLIPolicy is the policy of the OpenTofu CLI without configuration, for packages of registries.
// [github.com/tofureg/tofureg/cliconfig.Config.Policy] follows the user's configuration.
//
// It is weaker than the zero policy: it permits expired keys and signatures, weak algorithms and any archive name. A
// package from [addrs.DefaultHost] needs no signature if the registry has none or lists no keys. For Terraform, which
// demands signatures of all hosts and records no stated h1, clear AllowUnsigned and set DropStated. For mirrors, which
// need neither signatures nor hashes, set AllowUnchecked.
func CLIPolicy(p addrs.Provider) verify.Policy {
	return verify.Policy{AllowUnsigned: p.Host() == addrs.DefaultHost(), AllowExpired: true, AllowWeak: true, AllowAnyName: true}
}
