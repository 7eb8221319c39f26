// Package login gets the API token of a host by a browser login, as "tofu login" does. It is meant for 1.0.
//
//	client := &login.Client{
//		Store: auth.CredentialsFile{Path: path},
//		Open:  func(url string) error { _, err := fmt.Println("Please visit", url); return err },
//	}
//	result, err := client.Login(ctx, svchost.MustParse("registry.example.com"))
//
// [github.com/tofureg/tofureg/cliconfig.Config.Store] returns the store of the CLI.
//
// The protocol is OAuth 2.0 with PKCE, see https://opentofu.org/docs/internals/login-protocol/:
//
//  1. Login discovers login.v1 of the host, and listens at a port of localhost that the host permits.
//  2. It calls Open with the URL of the login page.
//  3. The identity server redirects the browser to http://localhost:PORT/login with a code.
//  4. Login exchanges the code for a token, and saves the token in the Store.
//
// Both URLs of the service must be https. The request for the token follows no redirects, is not
// repeated, and takes at most 30 seconds. Refresh tokens are not stored: when a token expires, the
// user logs in again. Errors and logs contain no secrets.
package login
