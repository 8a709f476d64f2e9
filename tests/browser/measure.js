// What the tests measure of a page: measure.NAME() gives plain numbers and text.
window.measure = (() => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);

  function luminance(colour) {
    const [red, green, blue] = numbers(colour).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  // WCAG 2: from 1, equal, to 21, black on white.
  function contrast(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  function background(element) {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (numbers(colour).length === 3) return colour; // four numbers: it is transparent
    }
    return "rgb(255, 255, 255)";
  }

  // Elements with text of their own that is to be seen. Text on the board or on a heat map is
  // chosen for what lies below it, which no style sheet knows.
  function texts(all) {
    return [...document.body.querySelectorAll("*")].filter((element) => {
      if (["SCRIPT", "STYLE", "style"].includes(element.tagName) || element.disabled) return false;
      if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) return false;
      const picture = element.closest("svg");
      if (picture && !all && (picture.id === "board" || picture.querySelector("image"))) return false;
      return element.getClientRects().length > 0;
    });
  }

  function least(values) {
    return values.reduce((one, other) => (other.size < one.size ? other : one));
  }

  return {
    contrast,
    // The text that is hardest to tell from what it stands on.
    faintest: () => least(texts(false).map((element) => {
      const style = getComputedStyle(element);
      const colour = element.closest("svg") ? style.fill : style.color;
      return { size: contrast(colour, background(element)), text: element.textContent.trim() };
    })),
    // The smallest text, in pixels as they are seen.
    smallest: () => least(texts(true).map((element) => {
      const matrix = element.closest("svg") ? element.getScreenCTM() : { a: 1, b: 0 };
      const scale = Math.hypot(matrix.a, matrix.b); // it may stand upright
      const size = scale * parseFloat(getComputedStyle(element).fontSize);
      return { size, text: element.textContent.trim() };
    })),
    // Pictures that hold nothing: no pixels, or no shape that is drawn.
    broken: async () => {
      const found = [];
      const sources = [...document.images].map((image) => image.src);
      sources.push(...[...document.querySelectorAll("svg image")].map((image) => image.href.baseVal));
      for (const source of sources) {
        const image = new Image();
        image.src = source;
        await image.decode().catch(() => {});
        if (!image.naturalWidth) found.push(source.slice(0, 60));
      }
      for (const picture of document.querySelectorAll("svg")) {
        const shapes = [...picture.querySelectorAll("path, use, rect, circle, line, polyline, image")];
        const drawn = shapes.filter((shape) => {
          const box = shape.getBoundingClientRect();
          return !shape.closest("defs") && (box.width > 0 || box.height > 0);
        });
        if (drawn.length < 3) found.push(picture.getAttribute("aria-label"));
      }
      for (const canvas of document.querySelectorAll("canvas")) {
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        if (!pixels.data.some(Boolean)) found.push("canvas");
      }
      return found;
    },
    // How wide the page is, and how much of it can be seen at once.
    widths: () => [document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth],
    colours: () => {
      const style = getComputedStyle(document.body);
      return [style.color, style.backgroundColor];
    },
  };
})();
