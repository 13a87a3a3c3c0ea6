import { render } from "preact";
import { App } from "./app";
// One list of colours for the page and for reports, which are written without it.
import "../../src/overread/site/tokens.css";
import "./kit/kit.css";

render(<App />, document.getElementById("page")!);
