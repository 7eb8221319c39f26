// Package login gets the API token of a host by letting its user log in, in a
// browser.
//
// A host that wants its users to log in declares the service login.v1: an OAuth
// client with the URLs of two endpoints. This is what tofu login and terraform login
// use, and [Client.Login] is that as a call:
//
//	client := &login.Client{
//		Store: auth.CredentialsFile{Path: path},
//		Open:  func(url string) error { _, err := fmt.Println("Please visit", url); return err },
//	}
//	result, err := client.Login(ctx, svchost.MustParse("registry.example.com"))
//
// Where the CLI of the user keeps the token of a host, and looks for it, is what the
// method Store of package cliconfig's Config returns.
//
// The protocol is described at
// https://opentofu.org/docs/internals/login-protocol/. It is the authorization code
// grant of OAuth 2.0 (RFC 6749) for programs on the user's machine (RFC 8252):
//
//  1. Discovery tells where the service is.
//  2. Login listens on a port of 127.0.0.1, one of those that the host declares.
//  3. The caller's Open shows the user the page of the host's identity server.
//  4. The identity server sends the browser back to
//     http://localhost:PORT/login, with a code.
//  5. Login exchanges the code for a token, puts that into the Store, tells the user
//     in the browser how it ended, and closes the port.
//
// # Rules
//
// Only the answer to this very login counts. The address that is opened holds a fresh
// random state, which has to come back, and the digest of a fresh random verifier
// (PKCE, RFC 7636, method S256), so that the code is of no use to anybody else. At the
// port, a request for another path or host, by another method, or with another state
// is refused, and the login goes on waiting. One answer is taken, no second one. Programs
// and pages that fill the port with connections do not keep the browser out: of more than
// 64 the oldest is closed.
//
// Both endpoints must be https, whatever the Discovery permits. The code goes to the
// token endpoint and nowhere else: a redirect from there is an error. The request is
// made once, since a code is good for one. The answer may have 64 KiB and take 30
// seconds.
//
// Neither code nor verifier nor state nor token is in any error or log record. When
// Login returns, nobody listens on the port any more.
//
// # What is not supported
//
// Only the grant type authz_code is. The CLI knows the type password too, but for
// app.terraform.io alone, and the documents do not mention it any more. For a host that
// does not grant authz_code, or has no login service at all, Login returns an
// [*UnsupportedError]: the users of such a host make their tokens by hand, on some page
// of it, see [UnsupportedError.TokensURL].
//
// As in the CLI, a refresh token is not kept; a token that expires, see
// [Result.Expires], is renewed by another login. The protocol has no way to revoke a
// token: [Client.Logout] makes this machine forget it.
package login
