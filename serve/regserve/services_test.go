package regserve_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/transport"
)

// TestServices: discovery has further services, and a client can use them.
func TestServices(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	server := serve(t, &regserve.Handler{Providers: h.Providers, Services: map[disco.Service]any{
		disco.LoginV1: map[string]any{"client": "tofu-cli", "authz": "/oauth/authorize", "token": "https://login.example.com/token", "ports": []int{10000, 10010}},
		"modules.v1":  "https://modules.example.com/v1/modules/",
		"state.v2":    "/state/",
	}})
	client := &disco.Client{Transport: &transport.Settings{HTTP: server.Client()}}
	services := must.Get(client.Discover(t.Context(), svchost.MustParse(strings.TrimPrefix(server.URL, "https://"))))(t)
	for id, want := range map[disco.Service]string{
		disco.ProvidersV1: server.URL + "/v1/providers/", disco.ModulesV1: "https://modules.example.com/v1/modules/", "state.v2": server.URL + "/state/",
	} {
		if u := must.Get(services.URL(id))(t); u.String() != want {
			t.Errorf("%s is %s, want %s", id, u, want)
		}
	}
	login := must.Get(services.OAuthClient())(t)
	if login.ID != "tofu-cli" || login.AuthorizationURL.String() != server.URL+"/oauth/authorize" || login.MaxPort != 10010 {
		t.Errorf("login is %+v, want the one of the field", login)
	}
}

// TestServicesAreChecked: what no client could use is an error of the server, which says why in its log only.
func TestServicesAreChecked(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	for id, value := range map[disco.Service]any{
		disco.LoginV1:     map[string]any{"client": "tofu-cli"},
		disco.ProvidersV1: "/elsewhere/",
		"state.v1":        "http://state.example.com/",
		"state.v2":        "https://user:secret@state.example.com/",
		"state.v3":        []int{1},
		"state.v4":        "",
		"state":           "/state/",
		"state.v5":        func() {},
	} {
		var log bytes.Buffer
		server := serve(t, &regserve.Handler{
			Providers: h.Providers, Host: h.Host, Services: map[disco.Service]any{id: value}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		resp, body := get(t, server, "/.well-known/terraform.json")
		var doc struct{ Errors []string }
		must.Do(t, json.Unmarshal([]byte(body), &doc))
		if resp.StatusCode != http.StatusInternalServerError || len(doc.Errors) != 1 || strings.Contains(body, "state") {
			t.Errorf("%s: %v: status %d, %s; want 500 without its value", id, value, resp.StatusCode, body)
		}
		if !strings.Contains(log.String(), "Services") || strings.Contains(log.String(), "secret") {
			t.Errorf("%s: %v: the log is %s, want the field and no secret", id, value, &log)
		}
		if resp, _ := get(t, server, packagePath); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %v: a package has status %d, want 200", id, value, resp.StatusCode)
		}
	}
}
