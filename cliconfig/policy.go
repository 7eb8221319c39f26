package cliconfig

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Policy returns the rule by which the CLI accepts packages of a provider, for packages
// of [Config.ProviderSource]. It is weaker than the zero [verify.Policy]:
//
//   - Of a registry, a signature is demanded, but not where the registry of the default
//     host lists no keys at all; OPENTOFU_ENFORCE_GPG_VALIDATION=true demands it there
//     too, and so does [System.Terraform].
//   - Expired keys and signatures are accepted, unless OPENTOFU_ENFORCE_GPG_EXPIRATION
//     is "true". So are weak algorithms, and archives under any name.
//   - Of mirrors, nothing is demanded. What a mirror states must fit.
//
// Unlike in the CLI, a hash that the source states and that was computed must match
// whatever else is known, a package that is known by a lock file needs no signature, and
// signatures from the future are refused, which the CLI takes for expired ones. A package
// is refused too if its mirror states hashes for other platforms of the version and none
// for this one.
//
// A provider for which the methods include a mirror gets the policy of mirrors, because
// a policy does not know which method answers. ProviderSource makes up for it: packages of
// its direct method are marked [provider.Package.MustBeSigned] where the CLI would demand a
// signature.
func (c *Config) Policy(p addrs.Provider) verify.Policy {
	s := c.settings()
	policy := verify.Policy{AllowExpired: !s.enforce.unexpired, AllowWeak: true, AllowAnyName: true}
	policy.AllowUnsigned = !s.mustSign(p)
	for _, m := range s.methods {
		if m.Kind != Direct && m.Selects(p) {
			policy.AllowUnchecked = true
		}
	}
	return policy
}

// mustSign reports whether a registry without any keys for p is refused.
func (s *settings) mustSign(p addrs.Provider) bool {
	return s.enforce.signed || s.system().Terraform || p.Host() != addrs.DefaultHost()
}

// signed is a registry whose packages must be signed where the CLI demands that.
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
