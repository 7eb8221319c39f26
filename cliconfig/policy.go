package cliconfig

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Policy returns the policy of the CLI for a provider. It is weaker than the zero
// [verify.Policy]:
//
//   - A package from [addrs.DefaultHost] needs no signature if the registry lists no keys,
//     unless OPENTOFU_ENFORCE_GPG_VALIDATION is "true" or [System.Terraform] is set.
//     Packages from other registries need a signature.
//   - Expired keys and signatures are permitted, unless OPENTOFU_ENFORCE_GPG_EXPIRATION is
//     "true". Weak algorithms and any archive name are permitted.
//   - A lock file records the h1 that [addrs.DefaultHost] states for other platforms, unless it
//     demands signatures.
//   - A mirror package needs neither signature nor hashes, but stated hashes must match.
//
// Unlike the CLI, it refuses signatures from the future, any stated hash that
// does not match, and mirror packages with hashes only for other platforms. A hash in the
// lock file replaces the signature.
func (c *Config) Policy(p addrs.Provider) verify.Policy {
	s := c.settings()
	policy := verify.Policy{AllowExpired: !s.enforce.unexpired, AllowWeak: true, AllowAnyName: true}
	policy.AllowUnsigned = !s.mustSign(p)
	policy.DropStated = s.mustSign(p)
	// A policy does not know which method a package comes from, so it permits what one of
	// them does. The source signed demands signatures of the direct method.
	for _, m := range s.methods {
		if m.Kind != Direct && m.Selects(p) {
			policy.AllowUnchecked = true
		}
	}
	return policy
}

// mustSign reports whether the registry must list keys for p.
func (s *settings) mustSign(p addrs.Provider) bool {
	return s.enforce.signed || s.system().Terraform || p.Host() != addrs.DefaultHost()
}

// signed is a registry whose packages must be signed if the CLI demands it.
type signed struct {
	provider.Source
	set *settings
}

func (s *signed) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	marked := *pkg
	marked.MustBeSigned = s.set.mustSign(p) || len(pkg.Keys) > 0
	return &marked, nil
}
