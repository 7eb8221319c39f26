package login_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestUnsupported logs in to hosts without a supported login service.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	type services = map[string]any
	password := services{"client": "x", "token": "/token", "grant_types": []string{"password", "\x1b[31m"}}
	tests := map[string]struct {
		services services
		want     error // of package disco, or nil
		grants   []string
		tokens   string
		text     string
	}{
		"no services":        {services{}, disco.ErrNoService, nil, "", "create an API token on a page of the host and store it"},
		"another service":    {services{"modules.v1": "/m/"}, disco.ErrNoService, nil, "", "service not offered"},
		"another version":    {services{"login.v2": services{}}, disco.ErrServiceVersion, nil, "", "login.v2"},
		"HCP":                {services{"tfe.v2": "/api/v2/"}, disco.ErrNoService, nil, "https://registry.example.com/app/settings/tokens", " (https://registry.example.com/app/settings/tokens) and"},
		"Enterprise":         {services{"tfe.v2": "https://tfe.example.com:8443/api/v2/?q"}, disco.ErrNoService, nil, "https://tfe.example.com:8443/app/settings/tokens", "login.v1"},
		"password":           {services{"login.v1": password}, nil, []string{"password", `\x1b[31m`}, "", `only ["password"`},
		"password at HCP":    {services{"login.v1": password, "tfe.v2": "/api"}, nil, []string{"password", `\x1b[31m`}, "https://registry.example.com/app/settings/tokens", "authz_code"},
		"no grants":          {services{"login.v1": services{"client": "x", "grant_types": []string{}}}, nil, nil, "", "authz_code"},
		"tfe.v2 is nonsense": {services{"tfe.v2": 7}, disco.ErrNoService, nil, "", "of the host and store"},
	}
	for name, test := range tests {
		reg := regtest.New(host.String())
		reg.Services = test.services
		r, err := client(reg).Login(t.Context(), host)
		wantError(t, err)
		u, ok := errors.AsType[*login.UnsupportedError](err)
		if !ok || r != nil {
			t.Errorf("%s: %v, want an *UnsupportedError", name, err)
			continue
		}
		if u.Host != host || u.TokensURL != test.tokens || !slices.Equal(u.GrantTypes, test.grants) || (u.Err == nil) != (test.want == nil) ||
			test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %+v: %v", name, u, err)
		}
	}
}

// TestDiscoveryFails logs in to hosts whose services are unknown or invalid.
func TestDiscoveryFails(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Status: http.StatusForbidden})
	_, err := client(reg).Login(t.Context(), host)
	wantError(t, err)
	if e, ok := errors.AsType[*failure.RequestError](err); !ok || e.Status != 403 || !errors.Is(err, disco.ErrUnauthorized) {
		t.Error(err)
	}
	if _, ok := errors.AsType[*login.UnsupportedError](err); ok {
		t.Errorf("%v: an *UnsupportedError, although discovery failed", err)
	}
	reg = regtest.New(host.String())
	reg.Services = map[string]any{"login.v1": map[string]any{"client": 7}}
	_, err = client(reg).Login(t.Context(), host)
	wantError(t, err)
	if e, ok := errors.AsType[*disco.ServiceError](err); !ok || e.Service != disco.LoginV1 || errors.Is(err, disco.ErrNoService) {
		t.Error(err)
	}
}
