package oci

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/tofureg/tofureg/cliconfig"
)

// credential returns the function that provides the credential of one repository. As in
// OpenTofu, only the host of the repository gets it. If there is one, has is set.
func (c *Client) credential(ref registry.Reference, has *atomic.Bool) auth.CredentialFunc {
	if c.Credential == nil {
		return nil
	}
	chosen := sync.OnceValues(func() (cliconfig.OCICredential, error) {
		return c.Credential(ref.Registry + "/" + ref.Repository)
	})
	return func(ctx context.Context, host string) (found auth.Credential, err error) {
		defer func() { has.Store(has.Load() || err == nil && found != auth.EmptyCredential) }()
		if host != ref.Registry {
			return auth.EmptyCredential, nil
		}
		credential, err := chosen()
		if err != nil {
			return auth.EmptyCredential, &CredentialError{Registry: host, Err: err}
		}
		if credential.Helper != "" {
			return runHelper(ctx, credential.Helper, host)
		}
		return auth.Credential{
			Username: credential.Username, Password: credential.Password.Reveal(),
			AccessToken: credential.AccessToken.Reveal(), RefreshToken: credential.RefreshToken.Reveal(),
		}, nil
	}
}

// runHelper runs docker-credential-HELPER from PATH. Its output may be secret, so errors do
// not contain it.
func runHelper(ctx context.Context, helper, host string) (auth.Credential, error) {
	found, err := credentials.NewNativeStore(helper).Get(ctx, "https://"+host)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case errors.Is(err, exec.ErrNotFound):
			err = fmt.Errorf("the program %q is not in PATH", "docker-credential-"+helper)
		default:
			err = fmt.Errorf("the program %q failed", "docker-credential-"+helper)
		}
		return auth.EmptyCredential, &CredentialError{Registry: host, Err: err}
	}
	return found, nil
}
