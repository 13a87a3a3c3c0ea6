import { render } from "preact";
import { App } from "./app";
import "./kit/tokens.css";
import "./kit/kit.css";

render(<App />, document.getElementById("page")!);
